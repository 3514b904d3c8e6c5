import * as v from 'valibot';
import { invalid, type Problem, type ValidationIssue } from './problem.ts';

/** Validates input with valibot, and has the schemas that many inputs and answers of the API share. */

/** 422 with the first 100 issues. */
export function invalidIssues(issues: readonly ValidationIssue[]): Problem {
  const [first = { path: '', message: 'is not valid' }, ...rest] = issues.slice(0, MAX_ISSUES);
  return invalid([first, ...rest]);
}

type Schema = v.GenericSchema<unknown, unknown>;

/** Validates a value. @throws {Problem} 422 with the path of each issue. */
export function check<S extends Schema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value, { abortPipeEarly: true });
  if (!result.success) throw invalidIssues(result.issues.slice(0, MAX_ISSUES).map(toValidationIssue));
  return result.output;
}

/** The most validation issues that one answer lists. */
export const MAX_ISSUES = 100;

/**
 * Adds JSON Schema to a schema's entry in /openapi.json, for rules that valibot's own actions cannot express there: `v.pipe(schema,
 * check, documented({ … }))`.
 */
export const documented = <Input>(jsonSchema: Record<string, unknown>) =>
  v.metadata<Input, Record<string, unknown>>(jsonSchema);

/** Adds an example to a schema's entry in /openapi.json. It is for values that no example of a request or an answer shows. */
export const withExample = <S extends v.GenericSchema>(schema: S, example: v.InferInput<S>) =>
  v.pipe(schema, documented<v.InferOutput<S>>({ examples: [example] }));

/** Whether a text has more code points than `most`. It stops counting there, because a hostile text can be long. */
function isLonger(text: string, most: number): boolean {
  if (text.length <= most) return false;
  // A code point takes at most two UTF-16 units.
  if (text.length > 2 * most) return true;
  let count = 0;
  for (const _ of text) {
    count += 1;
    if (count > most) return true;
  }
  return false;
}

/** Limits a text to a number of characters, as MySQL and JSON Schema count them: code points, not UTF-16 units. */
export const maxCharacters = (most: number) =>
  [
    v.check((text: string) => !isLonger(text, most), `must be at most ${most} characters long`),
    documented<string>({ maxLength: most }),
  ] as const;

/** The schema with one issue for a value that is too large, in place of one for each of its parts, which would block the process. */
function refuseEarly<S extends Schema>(
  schema: S,
  isTooLarge: (value: unknown) => boolean,
  message: string,
): S {
  const refusal = v.pipe(
    v.unknown(),
    v.check(() => false, message),
  );
  return {
    ...schema,
    '~run': (dataset: v.UnknownDataset, config: v.Config<v.BaseIssue<unknown>>) =>
      (isTooLarge(dataset.value) ? refusal : schema)['~run'](dataset, config),
  };
}

/** A list that is refused before its items are looked at when it has more than `most`. @param rule the message for what is no list. */
export const shortList = <Item extends Schema>(item: Item, most: number, message: string, rule?: string) =>
  refuseEarly(
    v.pipe(v.array(item, rule), v.maxLength(most, message)),
    (value) => Array.isArray(value) && value.length > most,
    message,
  );

/** An object of any names that is refused before its members are looked at when it has more than `most`. */
export const shortRecord = <
  Name extends v.GenericSchema<string, string>,
  Value extends v.GenericSchema<unknown, unknown>,
>(
  name: Name,
  value: Value,
  most: number,
  message: string,
  rule?: string,
) => refuseEarly(v.record(name, value, rule), (given) => hasMoreMembers(given, most), message);

function hasMoreMembers(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.length > most;
  let count = 0;
  for (const _ in value) {
    count += 1;
    if (count > most) return true;
  }
  return false;
}

const LEAP_YEAR = '[1-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[13579][26])00';

/** A date of the (proleptic Gregorian) calendar, YYYY-MM-DD, as a regular expression. MySQL's DATE starts at the year 1000. */
export const CALENDAR_DATE = [
  '(?:[1-9][0-9]{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])',
  '|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))',
  `|(?:${LEAP_YEAR})-02-29)`,
].join('');

/** A text that is such a date. */
const DATE_SHAPE = new RegExp(`^${CALENDAR_DATE}$`);

const DATE_RULE = 'must be a date that exists, written YYYY-MM-DD, from the year 1000';

/** A date that exists: "2026-02-28", but not "2026-02-30". */
export const CalendarDate = v.pipe(
  v.string(DATE_RULE),
  v.regex(DATE_SHAPE, DATE_RULE),
  documented({ format: 'date' }),
);

/** Refuses lone surrogates. They have no UTF-8 encoding, so two different texts would be stored as the same text. */
export const wellFormed = v.check(
  (text: string) => text.isWellFormed(),
  'must be valid Unicode, without lone surrogates',
);

/** Converts an issue of valibot, and replaces a message that would quote the input. */
export function toValidationIssue(issue: v.BaseIssue<unknown>): ValidationIssue {
  return { path: v.getDotPath(issue) ?? '', message: messageOf(issue) };
}

function messageOf(issue: v.BaseIssue<unknown>): string {
  const missing = issue.received === 'undefined';
  if (issue.type === 'strict_object' && issue.expected === 'never') return 'is not a known field';
  if (missing && issue.kind === 'schema') return 'is required';
  // valibot's default messages quote the input. Ours say only what is allowed.
  return issue.message.startsWith('Invalid ') ? `must be ${issue.expected ?? 'valid'}` : issue.message;
}

/** A title that a person gives to something, such as a webhook. */
export const Title = v.pipe(
  v.string('must be a string'),
  ...maxCharacters(200),
  v.regex(/\S/, 'must not be blank'),
  documented({ minLength: 1 }),
  wellFormed,
  v.trim(),
);

/** An id, as a JSON integer. Our ids stay below 2^53, so every JSON parser reads them exactly. */
export const IdView = v.pipe(v.number(), v.integer(), v.minValue(1));

/** A secret that is shown only in the answer to the request that made it. */
export const ShownOnce = v.pipe(
  v.nullable(v.string()),
  v.description('Shown only in this answer. null: this is the answer to a repeated Idempotency-Key.'),
);

/** A count: a whole number from 0. */
export const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** A moment in UTC, RFC 3339. */
export const Timestamp = v.pipe(v.string(), v.isoTimestamp());

/** An amount with two fraction digits, or with three in a currency that has three. */
export const Amount = v.pipe(v.string(), v.regex(/^-?[0-9]{1,18}\.[0-9]{2,3}$/));
