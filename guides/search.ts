import type MiniSearch from 'minisearch';
import type { Options } from 'minisearch';

/** The search of /docs: how the build makes the index, and how a browser asks it. Browsers load this file as it is compiled. */

/** A part of a page that can be found. */
export interface Found {
  /** Its page and its place within it. */
  url: string;
  /** The title of its page. */
  page: string;
  heading: string;
  /** Its first words. */
  excerpt: string;
}

/** Words that say nothing about a subject. */
const STOP_WORDS = new Set(
  'a an and are as at be by can do does for from has have how i if in is it its my no not of on or that the their them there this to was what when which who why will with you your'.split(
    ' ',
  ),
);

/** The form in which a word is compared: lower case, without the end of a plural, a past or a participle. */
function stem(word: string): string | null {
  const lower = word.toLowerCase();
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
  fields: ['page', 'heading', 'text'],
  storeFields: ['url', 'page', 'heading', 'excerpt'],
  processTerm: stem,
};

/** Finds the sections that fit a text best, the best one first. All words first; a word may be a beginning of one. */
export function find(index: MiniSearch, text: string): Found[] {
  const query = text.slice(0, 200);
  const options = { boost: { page: 4, heading: 3 }, prefix: (term: string) => term.length > 2 };
  const all = index.search(query, { ...options, combineWith: 'AND' });
  const hits = all.length > 0 ? all : index.search(query, { ...options, fuzzy: 0.2, combineWith: 'OR' });
  return hits.slice(0, 20) as unknown as Found[];
}
