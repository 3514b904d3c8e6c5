import type MiniSearch from 'minisearch';
import type { Options, SearchResult } from 'minisearch';

/** The search of /docs: how the build makes the index, and how a browser asks it. Browsers load this file as it is compiled. */

/** A part of a page that can be found. */
export interface Found {
  /** Its page and its place within it. */
  url: string;
  /** The title of its page. */
  page: string;
  heading: string;
  /** Its words around those that were found. */
  excerpt: string;
}

/** Words that say nothing about a subject. */
const STOP_WORDS = new Set(
  'a an and are as at be by can do does for from has have how i if in is it its my no not of on or that the their them there this to was what when which who why will with you your'.split(
    ' ',
  ),
);

/** What people look for, in the words of the guides. */
const SYNONYMS: Readonly<Record<string, string>> = {
  backoff: 'retries',
  delete: 'deletion',
  erase: 'deletion',
  gdpr: 'deletion',
  paginate: 'next',
  pagination: 'next',
  paging: 'next',
  quickstart: 'minutes',
  resend: 'redeliver',
  rollback: 'undo',
  timezone: 'zone',
  tutorial: 'minutes',
};

/** `C#` and `C++` are words. */
const WORD = /[\p{L}\p{N}]+(?:\+\+|#(?!\p{L}))?/gu;

/** Words, and beside the parts of a name such as `PUBLIC_URL` the name as a whole. */
const tokenize = (text: string): string[] => [
  ...(text.match(WORD) ?? []),
  ...(text.match(/[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)+/gu) ?? []),
];

/** The form in which a word is compared: lower case, without the end of a plural, a past or a participle. */
function stem(word: string): string | null {
  const said = word.toLowerCase();
  const lower = Object.hasOwn(SYNONYMS, said) ? (SYNONYMS[said] ?? said) : said;
  if (STOP_WORDS.has(lower)) return null;
  if (lower.length < 5) return lower.replace(/([^s])s$/, '$1');
  return lower
    .replace(/(?:ies|y)$/, 'i')
    .replace(/(?:ing|ed|es|s|e)$/, '')
    .replace(/([^aeiou])\1$/, '$1');
}

/** What both sides must say in the same way. */
export const OPTIONS: Options = {
  idField: 'id',
  fields: ['page', 'heading', 'names', 'text'],
  storeFields: ['url', 'page', 'heading', 'text', 'weight'],
  tokenize,
  processTerm: stem,
};

/** Characters of an excerpt, and of them those before the first word that was found. */
const EXCERPT = 160;
const BEFORE = 40;

/** The words around those of a text that were found, where most of them stand together. @param terms that were found, as `stem` makes them. */
function excerptOf(text: string, terms: readonly string[]): string {
  const hits = [...text.matchAll(WORD)].flatMap(({ 0: word, index }) => {
    const term = stem(word);
    return term !== null && terms.includes(term) ? [{ term, index }] : [];
  });
  let [best, most] = [0, 0];
  for (const [at, { index }] of hits.entries()) {
    const together = new Set<string>();
    for (let next = at; (hits[next]?.index ?? Infinity) < index + EXCERPT - BEFORE; next += 1)
      together.add(hits[next]?.term ?? '');
    if (together.size > most) [best, most] = [index, together.size];
  }
  const start = best <= BEFORE ? 0 : text.indexOf(' ', best - BEFORE) + 1;
  const end = start + EXCERPT >= text.length ? text.length : text.lastIndexOf(' ', start + EXCERPT);
  return `${start === 0 ? '' : '… '}${text.slice(start, end)}${end === text.length ? '' : ' …'}`;
}

/** Finds the sections that fit a text best, the best one first. All words first; a word may be a beginning of one. */
export function find(index: MiniSearch, text: string): Found[] {
  const query = text.slice(0, 200);
  const options = {
    boost: { page: 4, heading: 3, names: 3 },
    prefix: (term: string) => term.length > 2,
    boostDocument: (_id: unknown, _term: string, fields?: Record<string, unknown>) =>
      Number(fields?.weight ?? 1),
  };
  const all = index.search(query, { ...options, combineWith: 'AND' });
  const hits = all.length > 0 ? all : index.search(query, { ...options, fuzzy: 0.2, combineWith: 'OR' });
  return hits.slice(0, 20).map(toFound);
}

const toFound = ({ url, page, heading, text, terms }: SearchResult): Found => ({
  url,
  page,
  heading,
  excerpt: excerptOf(text, terms),
});
