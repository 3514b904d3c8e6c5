import * as v from 'valibot';
import { documented } from '../../validation.ts';
import { HttpUrl, plainText, secretText } from './setting-schemas.ts';

const MAX_HEADERS = 10;

/** Headers that the connector or the connection sets itself (RFC 9110, section 7.6.1). */
const REFUSED_HEADERS =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|content-.*|accept-encoding|range|if-.*|__proto__|constructor|prototype)$/i;

/** A field-name is a token, a field-value is visible ASCII with inner spaces (RFC 9110, sections 5.1 and 5.5). */
const HeaderName = v.pipe(
  v.string(),
  v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'must have names of letters, digits and hyphens'),
  v.check(
    (name) => !REFUSED_HEADERS.test(name),
    'must not set host, content-*, if-*, range, accept-encoding or a header of the connection',
  ),
);
const VISIBLE = /^[\x21-\x7e](?:[\t\x20-\x7e]{0,3998}[\x21-\x7e])?$/;
const VISIBLE_RULE = 'must be visible ASCII characters, at most 4,000';

const Headers = v.pipe(
  v.record(HeaderName, v.pipe(v.string(VISIBLE_RULE), v.regex(VISIBLE, VISIBLE_RULE))),
  v.check(
    (headers) => Object.keys(headers).length <= MAX_HEADERS,
    `must have at most ${MAX_HEADERS} headers`,
  ),
  documented({ maxProperties: MAX_HEADERS }),
);

const PATH_RULE = 'must be the names of members with points between them, such as "paging.next"';

/** Where a page of JSON tells how the next one is asked for. */
const Json = v.strictObject({
  cursor_path: v.pipe(
    v.string(PATH_RULE),
    v.regex(/^[A-Za-z0-9_$-]{1,100}(?:\.[A-Za-z0-9_$-]{1,100}){0,9}$/, PATH_RULE),
  ),
  cursor_parameter: plainText(100),
});

/** Settings of a source of kind `http`. Everybody who may read the source sees them. */
export const HttpSettings = v.pipe(
  v.strictObject({
    url: HttpUrl,
    format: v.optional(v.picklist(['file', 'json'], 'must be "file" or "json"'), 'file'),
    json: v.optional(Json),
    /** Where a run begins: at the last page that was collected, or always at `url`. */
    start: v.optional(v.picklist(['last_page', 'first_page'], 'must be "last_page" or "first_page"')),
  }),
  v.forward(
    v.check(({ format, json }) => json === undefined || format === 'json', 'needs "format": "json"'),
    ['json'],
  ),
  v.forward(
    v.check(({ format, start }) => start === undefined || format === 'json', 'needs "format": "json"'),
    ['start'],
  ),
);
export type HttpSettings = v.InferOutput<typeof HttpSettings>;

/** Credentials of a source of kind `http`. All of them are sent to the host of `url` alone. */
export const HttpCredentials = v.pipe(
  v.strictObject({
    bearer: v.optional(v.pipe(v.string(VISIBLE_RULE), v.regex(VISIBLE, VISIBLE_RULE))),
    user: v.optional(secretText(255)),
    password: v.optional(secretText(1_024)),
    headers: v.optional(Headers),
  }),
  v.check(
    ({ bearer, user }) => bearer === undefined || user === undefined,
    'must have either "bearer", or "user" and "password"',
  ),
  v.forward(
    v.check(
      ({ user, password }) => password === undefined || user !== undefined,
      'belongs to "user", which is missing',
    ),
    ['password'],
  ),
  v.forward(
    v.check(({ user }) => user === undefined || !user.includes(':'), 'must not contain a colon (RFC 7617)'),
    ['user'],
  ),
);
export type HttpCredentials = v.InferOutput<typeof HttpCredentials>;

/** The headers that carry the credentials. */
export function headersOf({
  bearer,
  user,
  password = '',
  headers = {},
}: HttpCredentials): Record<string, string> {
  if (bearer !== undefined) return { ...headers, authorization: `Bearer ${bearer}` };
  if (user === undefined) return headers;
  return { ...headers, authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}
