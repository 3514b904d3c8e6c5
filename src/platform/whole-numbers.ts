import * as v from 'valibot';
import { documented } from './validation.ts';

/** Whole numbers, ports and ids, most of them in a text: in a query string, an environment variable or an option. */

/** What is told about a value that is no whole number from `least` to `most`. */
export const rangeRule = (least: number, most: number): string =>
  `must be a whole number from ${least} to ${most}`;

/** @returns the number, or null when the text is no whole number from `least` to `most`. */
export function parseWholeNumber(text: string, least: number, most: number): number | null {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return number >= least && number <= most ? number : null;
}

/** A whole number in a text. @param rule what is told about another text. */
export const WholeNumber = (least: number, most: number, rule = rangeRule(least, most)) =>
  v.pipe(
    v.string(),
    v.check((text) => parseWholeNumber(text, least, most) !== null, rule),
    documented({ type: 'integer', minimum: least, maximum: most }),
    v.transform(Number),
  );

/** A whole number in JSON. @param rule what is told about another value. */
export const JsonInteger = (least: number, most: number, rule = rangeRule(least, most)) =>
  v.pipe(v.number(rule), v.integer(rule), v.minValue(least, rule), v.maxValue(most, rule));

/** The highest port. */
export const LAST_PORT = 65_535;

/** What is told about a text that is no port to listen on. */
export const PORT_RULE = `must be a port from 0 (any free one) to ${LAST_PORT}`;

/** Fits BIGINT UNSIGNED with room to spare. Ids start at 1. */
const ID_SHAPE = /^[1-9][0-9]{0,17}$/;

const ID_RULE = 'must be an id: an integer, or a string of digits';

/** Accepts an id as a string or an integer, and returns a string. */
export const Id = v.pipe(
  v.union(
    [JsonInteger(1, Number.MAX_SAFE_INTEGER, ID_RULE), v.pipe(v.string(ID_RULE), v.regex(ID_SHAPE, ID_RULE))],
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
