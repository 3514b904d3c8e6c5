import * as v from 'valibot';
import { documented } from './validation.ts';

/** Whole numbers, ports and ids that are written in a text: in a query string, an environment variable or an option. */

/** @returns the number, or null when the text is no whole number from `least` to `most`. */
export function parseWholeNumber(text: string, least: number, most: number): number | null {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return number >= least && number <= most ? number : null;
}

/** A whole number in a text. @param rule what is told about another text. */
export const WholeNumber = (
  least: number,
  most: number,
  rule = `must be a whole number from ${least} to ${most}`,
) =>
  v.pipe(
    v.string(),
    v.check((text) => parseWholeNumber(text, least, most) !== null, rule),
    documented({ type: 'integer', minimum: least, maximum: most }),
    v.transform(Number),
  );

/** Fits BIGINT UNSIGNED with room to spare. Ids start at 1. */
const ID_SHAPE = /^[1-9][0-9]{0,17}$/;

const ID_RULE = 'must be an id: an integer, or a string of digits';

/** Accepts an id as a string or an integer, and returns a string. */
export const Id = v.pipe(
  v.union(
    [
      v.pipe(
        v.number(ID_RULE),
        v.integer(ID_RULE),
        v.minValue(1, ID_RULE),
        v.maxValue(Number.MAX_SAFE_INTEGER, ID_RULE),
      ),
      v.pipe(v.string(ID_RULE), v.regex(ID_SHAPE, ID_RULE)),
    ],
    ID_RULE,
  ),
  v.transform(String),
);

/** An id in a text. The document calls it an integer, as our answers show it. */
export const IdText = v.pipe(
  v.string(),
  v.check((text) => ID_SHAPE.test(text), ID_RULE),
  documented<string>({ type: 'integer', minimum: 1 }),
);
