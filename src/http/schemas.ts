import * as v from 'valibot';

/** Parts of the API's answers, as /openapi.json shows them. */

/** An id: a JSON integer. MySQL's BIGINT stays below 2^53 here, so that every JSON parser reads it exactly. */
export const IdView = v.pipe(v.number(), v.integer(), v.minValue(1));

/** How many: a whole number from 0. */
export const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** A moment in UTC, RFC 3339. */
export const Timestamp = v.pipe(v.string(), v.isoTimestamp());

/** An amount with two fraction digits. */
export const Amount = v.pipe(v.string(), v.regex(/^-?[0-9]{1,18}\.[0-9]{2}$/));
