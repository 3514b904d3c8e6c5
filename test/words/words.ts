/** A word that this project no longer uses, with the word that replaces it. */
export interface RetiredWord {
  word: string;
  /** Matched without regard to case, in text whose camelCase identifiers were split into words. */
  pattern: RegExp;
  instead: string;
  /** Texts that may still contain the word, with the reason. A match that begins within such a text is allowed. */
  except?: readonly { text: RegExp; reason: string }[];
}

/** The words of the first version that confused readers most. The glossary (docs/glossary.md) has the words that replace them. */
export const RETIRED_WORDS: readonly RetiredWord[] = [
  { word: 'owed', pattern: /\bow(ed|es)\b/gi, instead: 'pending' },
  { word: 'rung', pattern: /\brung\b/gi, instead: 'sent a POST' },
  { word: 'pump', pattern: /\bpump(s|ed|ing)?\b/gi, instead: 'delivery run' },
  {
    word: 'drain',
    pattern: /\bdrain(s|ed|ing)?\b/gi,
    instead: 'delivery run, send, wait for',
    except: [{ text: /on(ce)?\((\w+, )?'drain'/g, reason: "the name of an event of Node's streams" }],
  },
  {
    word: 'ledger',
    pattern: /\bledgers?\b/gi,
    instead: 'result writer',
    except: [{ text: /ledger balance/gi, reason: "the banks' word for the booked balance, in OFX and BAI2" }],
  },
  { word: 'bookmark', pattern: /\bbookmark(s|ed)?\b/gi, instead: 'checkpoint' },
  { word: 'lane', pattern: /\blanes?\b/gi, instead: 'batcher' },
  { word: 'judge', pattern: /\bjudg(e|es|ed|ing)\b/gi, instead: 'check, compare, decide' },
  { word: 'settle', pattern: /\bsettl(e|es|ing)\b/gi, instead: 'complete, record' },
  {
    word: 'away',
    pattern: /\b(?:is|are|was|were|be) away\b(?! from)/gi,
    instead: 'unreachable, cannot be reached',
  },
];

export interface FoundWord {
  line: number;
  word: string;
  instead: string;
}

/** @returns each retired word in a text, by line. */
export function findRetiredWords(text: string, words: readonly RetiredWord[] = RETIRED_WORDS): FoundWord[] {
  return text.split('\n').flatMap((content, index) => {
    const line = splitIdentifiers(content);
    return words.flatMap(({ word, pattern, instead, except = [] }) => {
      const allowed = except.flatMap(({ text: allowedText }) => spansOf(allowedText, line));
      return spansOf(pattern, line)
        .filter(([start]) => !allowed.some(([from, to]) => start >= from && start < to))
        .map(() => ({ line: index + 1, word, instead }));
    });
  });
}

const spansOf = (pattern: RegExp, text: string): [number, number][] =>
  [...text.matchAll(pattern)].map((match) => [match.index, match.index + match[0].length]);

/** `drainAll` becomes `drain All`, and `MAX_LANES` becomes `MAX LANES`. */
const splitIdentifiers = (text: string): string =>
  text.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').replaceAll('_', ' ');
