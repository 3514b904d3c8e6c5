import * as v from 'valibot';
import { HOST, HTTP_URL } from '../../addresses/http-url.ts';
import { documented, maxCharacters, wellFormed } from '../../validation.ts';

/** What the settings of several kinds of sources have in common. */

const HOST_RULE = 'must be a host name in ASCII (punycode) or an IP address, without a port';
const URL_RULE =
  'must be an http or https URL without a user name, with a host name in ASCII (punycode) or an IP address';

export const Host = v.pipe(v.string(HOST_RULE), ...maxCharacters(253), v.regex(HOST, HOST_RULE));

export const HttpUrl = v.pipe(
  v.string(URL_RULE),
  ...maxCharacters(2_048),
  v.regex(HTTP_URL, URL_RULE),
  v.check((text) => URL.canParse(text), URL_RULE),
);

/** A text without control characters, which no path and no name of a user needs. */
export const plainText = (most: number) =>
  v.pipe(
    v.string('must be a string'),
    ...maxCharacters(most),
    v.minLength(1, 'must not be empty'),
    v.check((text) => !/\p{Cc}/u.test(text), 'must not contain control characters'),
    documented({ minLength: 1, not: { pattern: '[\\u0000-\\u001f\\u007f-\\u009f]' } }),
    wellFormed,
  );

/** A secret is kept exactly as it was sent. */
export const secretText = (most: number) =>
  v.pipe(
    v.string('must be a string'),
    ...maxCharacters(most),
    v.minLength(1, 'must not be empty'),
    documented({ minLength: 1 }),
    wellFormed,
  );

/** Which names are collected. `*` stands for any characters, `?` for one. */
export const NamePattern = v.pipe(
  plainText(200),
  v.check((text) => !text.includes('/'), 'must be a pattern of file names, such as "*.sta", without a path'),
  documented({ examples: ['*.sta'] }),
);

/** What happens to a file on the server when it has been collected. */
export const After = v.picklist(['leave', 'move'], 'must be "leave" or "move"');

/** A place for collected files, which has a meaning only if they are moved. */
export const MOVE_RULE = 'needs "after": "move"';
export const hasMeaning = (place: string | undefined, after: 'leave' | 'move'): boolean =>
  place === undefined || after === 'move';
