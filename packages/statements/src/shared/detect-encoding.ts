import { createByteDecoder, toCharacters } from '../encodings.ts';
import { isIban } from '../values.ts';
import { LETTER_PAIRS } from './letter-pairs.ts';

/**
 * Finds the encoding of one byte in which a text is written. Each encoding is tried with each of its languages: the pairs of letters of
 * that language say how probable the words are. Signs within words, mixed scripts and capitals behind small letters speak against it.
 */

type Region = 'western' | 'turkish' | 'central' | 'cyrillic' | 'greek' | 'baltic';

const LANGUAGES: Readonly<Record<Region, string>> = {
  western: 'en de fr es pt it nl sv da fi is',
  turkish: 'tr en de fr es pt it nl sv da fi',
  central: 'pl cs sk hu sh sl ro de',
  cyrillic: 'ru uk bg mk en',
  greek: 'el en',
  baltic: 'lt lv',
};

/** With how rare they are, which decides where the letters do not. The first of those that give the same text is chosen. */
const ENCODINGS: readonly (readonly [label: string, region: Region, rarity: number])[] = [
  ['windows-1254', 'turkish', 0],
  ['windows-1252', 'western', 0],
  ['windows-1250', 'central', 3],
  ['iso-8859-2', 'central', 3],
  ['iso-8859-15', 'western', 3],
  ['windows-1251', 'cyrillic', 3],
  ['windows-1253', 'greek', 3],
  ['iso-8859-7', 'greek', 3],
  ['ibm850', 'western', 6],
  ['ibm852', 'central', 6],
  ['ibm857', 'turkish', 6],
  ['ibm866', 'cyrillic', 6],
  ['koi8-u', 'cyrillic', 6],
  ['iso-8859-5', 'cyrillic', 6],
  ['windows-1257', 'baltic', 6],
];

/** Countries and currencies whose texts are seldom in a western encoding. */
const REGIONS: Readonly<Record<string, Region>> = Object.fromEntries(
  Object.entries({
    turkish: 'TR TRY',
    central: 'PL PLN CZ CZK SK HU HUF HR HRK SI RS RSD BA BAM ME AL ALL RO RON',
    cyrillic: 'RU RUB UA UAH BG BGN BY BYN MK MKD KZ KZT',
    greek: 'GR CY',
    baltic: 'LT LV',
  }).flatMap(([region, codes]) => codes.split(' ').map((code) => [code, region as Region])),
);

/** In the units of a natural logarithm, as are the digits of the pairs. */
const NEVER = 10;
const SIGN = 12;
const COMMON_SIGN = 3;
const QUOTE_BESIDE_LETTER = 3;
const SIGN_BESIDE_LETTER = 8;
const SIGN_WITHIN_WORD = 12;
const MIXED_SCRIPTS = 15;
const CAPITAL_BEHIND_SMALL = 9;
const OTHER_REGION = 5;
/** By how much the best encoding must be better than any that gives another text. */
const CERTAIN = 8;

const QUOTES = new Set('„”’‘“«»–—…´`\u00a0');
const COMMON_SIGNS = new Set('€§°®·№£¨');
const NO_LETTERS = new Set('ªºµƒ');

/** Of a longer word, the part around its first special byte is examined. */
const LONGEST_WORD = 40;
/** A word that is repeated counts at most this often. */
const MAX_COUNT = 3;

/** Letters of different words of each kind that are examined. */
const MAX_LETTERS = 4_000;

export interface DetectedEncoding {
  /** A label that `createByteDecoder` knows. */
  encoding: string;
  /** Encodings that are nearly as probable and give another text. Empty: the encoding is certain. */
  alternatives: string[];
}

/**
 * @param bytes a text that is not UTF-8
 * @param context the beginning of its file, whose first IBAN or currency says the country
 * @param candidates the only encodings that are tried, if the format is written in one of a few
 */
export function detectEncoding(
  bytes: Uint8Array,
  context: Uint8Array,
  candidates?: readonly string[],
): DetectedEncoding {
  const words = collectWords(toCharacters(bytes));
  const region = regionOf(toCharacters(context));
  const possible = ENCODINGS.filter(([label]) => candidates?.includes(label) ?? true);
  const tried = possible
    .map(([label, of, rarity]) => {
      const { text, cost } = tryEncoding(words, label, of);
      const isOther = region !== null && of !== region;
      return { label, text, rarity, cost: cost + (isOther ? OTHER_REGION : 0) };
    })
    .sort((one, other) => one.cost + one.rarity - other.cost - other.rarity);
  const [best] = tried as [(typeof tried)[number]];
  const alternatives = tried.filter((it) => it.text !== best.text && it.cost - best.cost < CERTAIN);
  return { encoding: best.label, alternatives: alternatives.map(({ label }) => label) };
}

interface Words {
  /** Words that have a byte that is not ASCII, a character for each byte, with their number. */
  special: ReadonlyMap<string, number>;
  plain: ReadonlyMap<string, number>;
  /** How much a plain word counts, so that codes and names in English do not decide alone. */
  plainWeight: number;
}

const WORD = /[A-Za-z\u0080-\u00ff]+/g;
const NOT_ASCII = /[\u0080-\u00ff]/;
/** Letters of the shortest word of ASCII that says something about the language. */
const LEAST_PLAIN = 3;
/** Characters of a text in which words of ASCII are sought. */
const PLAIN_CHARACTERS = 16 * 1024;

function collectWords(text: string): Words {
  const special = createCount();
  const plain = createCount();
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const at = word.search(NOT_ASCII);
    if (at !== -1) special.add(cutWord(word, at));
    else if (index < PLAIN_CHARACTERS && word.length >= LEAST_PLAIN) plain.add(cutWord(word, 0));
    if (special.isFull() && (plain.isFull() || index >= PLAIN_CHARACTERS)) break;
  }
  return {
    special: special.counts,
    plain: plain.counts,
    plainWeight: Math.min(1, (2 * special.letters()) / Math.max(1, plain.letters())),
  };
}

function cutWord(word: string, special: number): string {
  if (word.length <= LONGEST_WORD) return word;
  const from = Math.max(0, special - LONGEST_WORD / 2);
  return word.slice(from, from + LONGEST_WORD);
}

/** Counts words until they have many letters. */
function createCount() {
  const counts = new Map<string, number>();
  let letters = 0;
  const isFull = () => letters > MAX_LETTERS;
  return {
    counts,
    letters: () => letters,
    isFull,
    add(word: string): void {
      if (isFull()) return;
      const count = counts.get(word) ?? 0;
      if (count === 0) letters += word.length;
      if (!isFull()) counts.set(word, Math.min(MAX_COUNT, count + 1));
    },
  };
}

const IBAN = /(?<![A-Z0-9])[A-Z]{2}\d{2}[A-Z0-9]{11,30}(?![A-Z0-9])/g;
const CURRENCY = /(?<![A-Z])[A-Z]{3}(?![A-Z])/g;

/** The region of the first IBAN, else of the first currency that has one. */
function regionOf(text: string): Region | null {
  for (const [iban] of text.matchAll(IBAN)) if (isIban(iban)) return REGIONS[iban.slice(0, 2)] ?? 'western';
  for (const [code] of text.matchAll(CURRENCY)) {
    const region = REGIONS[code];
    if (region !== undefined) return region;
  }
  return null;
}

/** How improbable the words are in an encoding, and its text of the words that are not ASCII. */
function tryEncoding(words: Words, label: string, region: Region): { text: string; cost: number } {
  const table = tableOf(label);
  const weighed: [word: string, weight: number][] = [];
  const texts: string[] = [];
  let cost = 0;
  for (const [bytes, count] of words.special) {
    let text = '';
    for (let at = 0; at < bytes.length; at += 1) text += table[bytes.charCodeAt(at)];
    texts.push(text);
    cost += count * costOfForm(text);
    for (const [part] of text.matchAll(/\p{L}+/gu)) weighed.push([toLower(part), count]);
  }
  for (const [word, count] of words.plain) weighed.push([word.toLowerCase(), count * words.plainWeight]);
  const languages = LANGUAGES[region].split(' ').map(pairsOf);
  const costs = languages.map((pairs) =>
    weighed.reduce((sum, [word, weight]) => sum + weight * costOfWord(word, pairs), 0),
  );
  return { text: texts.join(' '), cost: cost + Math.min(...costs) };
}

const tables = new Map<string, readonly string[]>();

/** The character of each byte. */
function tableOf(label: string): readonly string[] {
  const known = tables.get(label);
  if (known !== undefined) return known;
  const table = Array.from({ length: 256 }, (_, byte) =>
    createByteDecoder(label).decode(Uint8Array.of(byte)),
  );
  tables.set(label, table);
  return table;
}

/** The small letters of a word, each of one character. */
const toLower = (word: string): string => word.toLowerCase().replaceAll('\u0307', '');

const isLetter = (character: string): boolean => /\p{L}/u.test(character) && !NO_LETTERS.has(character);

const scriptOf = (letter: string): string =>
  /[\u0370-\u03ff]/.test(letter) ? 'greek' : /[\u0400-\u052f]/.test(letter) ? 'cyrillic' : 'latin';

/** How improbable signs, scripts and capitals of a word are. */
function costOfForm(word: string): number {
  let cost = 0;
  const scripts = new Set<string>();
  let before: string | undefined;
  for (let at = 0; at < word.length; at += 1) {
    const character = word[at] as string;
    const next = word[at + 1];
    if (isLetter(character)) {
      scripts.add(scriptOf(character));
      const isCapital = character !== character.toLowerCase();
      if (isCapital && before !== undefined && isLetter(before) && before !== before.toUpperCase())
        cost += CAPITAL_BEHIND_SMALL;
    } else {
      const besides = [before, next].filter((it) => it !== undefined && isLetter(it)).length;
      const isQuote = QUOTES.has(character);
      cost += isQuote || COMMON_SIGNS.has(character) ? COMMON_SIGN : SIGN;
      if (besides === 2) cost += SIGN_WITHIN_WORD;
      else if (besides === 1) cost += isQuote ? QUOTE_BESIDE_LETTER : SIGN_BESIDE_LETTER;
    }
    before = character;
  }
  return scripts.size > 1 ? cost + MIXED_SCRIPTS : cost;
}

interface Pairs {
  /** The place of each letter. */
  places: ReadonlyMap<string, number>;
  digits: string;
}

const pairs = new Map<string, Pairs>();

function pairsOf(language: string): Pairs {
  const known = pairs.get(language);
  if (known !== undefined) return known;
  const { letters = '', digits = '' } = LETTER_PAIRS[language] ?? {};
  const made = { places: new Map([...letters].map((letter, at) => [letter, at])), digits };
  pairs.set(language, made);
  return made;
}

function costOfWord(word: string, { places, digits }: Pairs): number {
  let cost = 0;
  let before: number | undefined = 0;
  for (let at = 0; at <= word.length; at += 1) {
    const place = at === word.length ? 0 : places.get(word[at] as string);
    cost +=
      before === undefined || place === undefined
        ? NEVER
        : digits.charCodeAt(before * places.size + place) - ZERO;
    before = place;
  }
  return cost;
}

const ZERO = 0x30;
