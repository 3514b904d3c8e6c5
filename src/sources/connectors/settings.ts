import { join, resolve } from 'node:path';
import * as v from 'valibot';
import { HOST, HttpUrl } from '../../platform/customer-urls.ts';
import {
  documented,
  maxCharacters,
  shortRecord,
  wellFormed,
  withExample,
} from '../../platform/validation.ts';
import { JsonInteger, LAST_PORT } from '../../platform/whole-numbers.ts';

/** Settings that several kinds of sources have in common. */

const HOST_RULE = 'must be a host name in ASCII (punycode) or an IP address, without a port';

export const Host = v.pipe(v.string(HOST_RULE), ...maxCharacters(253), v.regex(HOST, HOST_RULE));

/** A text without control characters. No path and no user name needs them. */
const plainText = (most: number) =>
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

/** The names of files to collect. `*` stands for any characters, `?` for one. */
const NamePattern = v.pipe(
  plainText(200),
  v.check((text) => !text.includes('/'), 'must be a pattern of file names, such as "*.sta", without a path'),
  documented({ examples: ['*.sta'] }),
);

/** `leave` or `move`: how a file on the server is treated after it was collected. */
export const After = v.picklist(['leave', 'move'], 'must be "leave" or "move"');

/** A place for collected files has a meaning only if they are moved. */
const MOVE_RULE = 'needs "after": "move"';
const hasMeaning = (place: string | undefined, after: 'leave' | 'move'): boolean =>
  place === undefined || after === 'move';

/** Requires something of one member with regard to the others. */
const memberRule = <T extends Record<string, unknown>>(
  name: keyof T & string,
  isKept: (value: T) => boolean,
  message: string,
): v.RawCheckAction<T> =>
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed || isKept(dataset.value)) return;
    const { value: input } = dataset;
    addIssue({ message, path: [{ type: 'object', origin: 'value', input, key: name, value: input[name] }] });
  });

/** Folders that a folder source makes below its own. */
export const FOLDERS = { processing: 'processing', done: 'done', failed: 'failed' } as const;

const NAME = '[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}';

const PATH_RULE =
  'must be a folder such as "inbox" or "garanti/inbox": names of letters (a to z), digits, "_", "-" and ".", which does not come first';

export const FolderSettings = v.strictObject({
  path: v.pipe(
    v.string(PATH_RULE),
    ...maxCharacters(500),
    v.regex(new RegExp(`^${NAME}(?:/${NAME})*$`), PATH_RULE),
    v.check(
      (path) => !path.split('/').some((name) => Object.hasOwn(FOLDERS, name.toLowerCase())),
      `must not contain a folder named ${Object.keys(FOLDERS).join(', ')}: a source keeps its own files there`,
    ),
    documented({ examples: ['inbox'] }),
  ),
});

export type FolderSettings = v.InferOutput<typeof FolderSettings>;

export const FolderCredentials = v.optional(v.null('must be left out: a folder needs none'), null);

const MAX_HEADERS = 10;

/** Headers that the connector or the connection sets itself (RFC 9110, section 7.6.1). */
const REFUSED_HEADERS =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|content-.*|accept-encoding|range|if-.*|__proto__|constructor|prototype)$/i;

/** A field-name is a token. A field-value is visible ASCII with inner spaces (RFC 9110, sections 5.1 and 5.5). */
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
  shortRecord(
    HeaderName,
    v.pipe(v.string(VISIBLE_RULE), v.regex(VISIBLE, VISIBLE_RULE)),
    MAX_HEADERS,
    `must have at most ${MAX_HEADERS} headers`,
  ),
  documented({ maxProperties: MAX_HEADERS }),
);

const MEMBER_RULE = 'must be the names of members with points between them, such as "paging.next"';

/** Where a page of JSON says how to request the next page. */
const Json = v.strictObject({
  cursor_path: v.pipe(
    v.string(MEMBER_RULE),
    v.regex(/^[A-Za-z0-9_$-]{1,100}(?:\.[A-Za-z0-9_$-]{1,100}){0,9}$/, MEMBER_RULE),
  ),
  cursor_parameter: plainText(100),
});

/** Settings of a source of kind `http`. Everybody who may read the source sees them. */
export const HttpSettings = v.pipe(
  v.strictObject({
    url: HttpUrl,
    format: v.optional(v.picklist(['file', 'json'], 'must be "file" or "json"'), 'file'),
    json: v.optional(Json),
    /** Where a run begins: at the last collected page, or always at `url`. */
    start: v.optional(v.picklist(['last_page', 'first_page'], 'must be "last_page" or "first_page"')),
  }),
  documented({
    examples: [
      {
        url: 'https://api.ladin.example/movements',
        format: 'json',
        json: { cursor_path: 'paging.next', cursor_parameter: 'after' },
        start: 'last_page',
      },
    ],
  }),
  memberRule('json', ({ format, json }) => json === undefined || format === 'json', 'needs "format": "json"'),
  memberRule(
    'start',
    ({ format, start }) => start === undefined || format === 'json',
    'needs "format": "json"',
  ),
);
export type HttpSettings = v.InferOutput<typeof HttpSettings>;

/** Credentials of a source of kind `http`. They are sent only to the host of `url`. */
export const HttpCredentials = v.pipe(
  v.strictObject({
    bearer: v.optional(v.pipe(v.string(VISIBLE_RULE), v.regex(VISIBLE, VISIBLE_RULE))),
    user: v.optional(secretText(255)),
    password: v.optional(secretText(1_024)),
    headers: v.optional(Headers),
  }),
  documented({
    examples: [
      { bearer: 'ladin-token-404', headers: { 'X-Client': 'kitabevi' } },
      { user: 'kitabevi', password: 'correct horse battery staple' },
    ],
  }),
  v.check(
    ({ bearer, user }) => bearer === undefined || user === undefined,
    'must have either "bearer", or "user" and "password"',
  ),
  memberRule(
    'password',
    ({ user, password }) => password === undefined || user !== undefined,
    'belongs to "user", which is missing',
  ),
  memberRule(
    'user',
    ({ user }) => user === undefined || !user.includes(':'),
    'must not contain a colon (RFC 7617)',
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

const BUCKET_RULE = 'must be the name of a bucket: 3 to 63 lower-case letters, digits, points and hyphens';
const REGION_RULE = 'must be a region, such as "eu-central-1"';
const FOLDER_RULE = 'must be a prefix that ends with "/", and another one than "prefix"';

/** Settings of a source of kind `s3`. Everybody who may read the source sees them. */
export const S3Settings = v.pipe(
  v.strictObject({
    /** The URL of a service other than AWS. */
    endpoint: v.optional(HttpUrl),
    region: v.optional(v.pipe(v.string(REGION_RULE), v.regex(/^[a-z0-9-]{1,50}$/, REGION_RULE)), 'us-east-1'),
    bucket: v.pipe(
      v.string(BUCKET_RULE),
      v.regex(/^[a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9]$/, BUCKET_RULE),
      documented({ examples: ['bank-statements'] }),
    ),
    prefix: v.optional(plainText(900)),
    pattern: v.optional(NamePattern, '*'),
    path_style: v.optional(v.boolean('must be true or false')),
    after: v.optional(After, 'leave'),
    done_prefix: v.optional(v.pipe(plainText(900), v.endsWith('/', FOLDER_RULE))),
    failed_prefix: v.optional(v.pipe(plainText(900), v.endsWith('/', FOLDER_RULE))),
  }),
  documented({
    examples: [
      {
        endpoint: 'https://s3.ladin.example',
        region: 'eu-central-1',
        bucket: 'bank-statements',
        prefix: 'ladin/',
        pattern: '*.sta',
        path_style: true,
        after: 'move',
        done_prefix: 'ladin-done/',
        failed_prefix: 'ladin-failed/',
      },
    ],
  }),
  memberRule('done_prefix', ({ after, done_prefix }) => hasMeaning(done_prefix, after), MOVE_RULE),
  memberRule('failed_prefix', ({ after, failed_prefix }) => hasMeaning(failed_prefix, after), MOVE_RULE),
  memberRule(
    'done_prefix',
    ({ prefix, done_prefix }) => done_prefix === undefined || done_prefix !== prefix,
    FOLDER_RULE,
  ),
  memberRule(
    'failed_prefix',
    ({ prefix, failed_prefix }) => failed_prefix === undefined || failed_prefix !== prefix,
    FOLDER_RULE,
  ),
);
export type S3Settings = v.InferOutput<typeof S3Settings>;

/** Credentials of a source of kind `s3`. */
export const S3Credentials = withExample(
  v.strictObject({
    access_key_id: secretText(255),
    secret_access_key: secretText(1_024),
  }),
  { access_key_id: 'KITABEVI404', secret_access_key: 'ladin-secret-404' },
);
export type S3Credentials = v.InferOutput<typeof S3Credentials>;

/** The URL of the service. AWS has a URL for each region. */
export const endpointOf = ({ endpoint, region }: S3Settings): URL =>
  new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);

/** Where files go with `after: "move"`. */
export const foldersOf = ({ prefix = '', done_prefix, failed_prefix }: S3Settings) => ({
  done: done_prefix ?? `${prefix}${prefix === '' || prefix.endsWith('/') ? '' : '-'}done/`,
  failed: failed_prefix ?? `${prefix}${prefix === '' || prefix.endsWith('/') ? '' : '-'}failed/`,
});

const PORT_RULE = 'must be a port: a whole number from 1 to 65535';
const HOST_KEY_RULE =
  'must be the fingerprint of the server\'s host key: "SHA256:" and 43 characters, as ssh-keygen -lf shows it';
const OTHER_FOLDER = 'must be another folder than "path"';
const KEY_RULE = 'must be a private key as a text that begins with "-----BEGIN", or a PuTTY key file';

const Port = JsonInteger(1, LAST_PORT, PORT_RULE);

/** Settings of a source of kind `sftp`. Everybody who may read the source sees them. */
export const SftpSettings = v.pipe(
  v.strictObject({
    host: Host,
    port: v.optional(Port, 22),
    user: plainText(255),
    /** The folder with the files. A path that does not begin with "/" begins in the user's home. */
    path: v.optional(plainText(1_024), '.'),
    host_key: v.pipe(
      v.string(HOST_KEY_RULE),
      v.regex(/^SHA256:[A-Za-z0-9+/]{43}$/, HOST_KEY_RULE),
      documented({ examples: ['SHA256:mVPwvezndPv/ARoIadVY98vAC0g+P/5633yTC4d/wXE'] }),
    ),
    /** Whether the server may sign with SHA-1, which very old servers need (RFC 8332). */
    ssh_rsa: v.optional(v.boolean('must be true or false')),
    pattern: v.optional(NamePattern, '*'),
    after: v.optional(After, 'leave'),
    done_path: v.optional(plainText(1_024)),
    failed_path: v.optional(plainText(1_024)),
  }),
  documented({
    examples: [
      {
        host: 'sftp.ladin.example',
        port: 22,
        user: 'kitabevi',
        path: 'statements',
        host_key: 'SHA256:mVPwvezndPv/ARoIadVY98vAC0g+P/5633yTC4d/wXE',
        ssh_rsa: false,
        pattern: '*.sta',
        after: 'move',
        done_path: 'statements-done',
        failed_path: 'statements-failed',
      },
    ],
  }),
  memberRule('done_path', ({ after, done_path }) => hasMeaning(done_path, after), MOVE_RULE),
  memberRule('failed_path', ({ after, failed_path }) => hasMeaning(failed_path, after), MOVE_RULE),
  memberRule('done_path', ({ path, done_path }) => done_path !== path, OTHER_FOLDER),
  memberRule('failed_path', ({ path, failed_path }) => failed_path !== path, OTHER_FOLDER),
);
export type SftpSettings = v.InferOutput<typeof SftpSettings>;

/** ssh-keygen uses 16 or 24 rounds. Each round takes about 40 ms and blocks the process. */
const MAX_ROUNDS = 64;
export const ROUNDS_RULE = `must be encrypted with at most ${MAX_ROUNDS} rounds of bcrypt: ssh-keygen -p -a 16 -f FILE changes them`;

/**
 * Says whether a private key can be decrypted quickly. The file itself names the number of rounds, up to 2^32 (openssh/PROTOCOL.key,
 * section 2). Other keys than those of OpenSSH have no rounds.
 */
export function hasFewRounds(key: string): boolean {
  const [, base64] = /-----BEGIN OPENSSH PRIVATE KEY-----([^-]*)/.exec(key) ?? [];
  if (base64 === undefined) return true;
  const bytes = Buffer.from(base64, 'base64');
  let at = 'openssh-key-v1\0'.length;
  const next = () => {
    const length = at + 4 <= bytes.length ? bytes.readUInt32BE(at) : 0;
    const field = bytes.subarray(at + 4, at + 4 + length);
    at += 4 + length;
    return field;
  };
  next(); // The cipher.
  if (next().toString('latin1') !== 'bcrypt') return true;
  // A salt and the rounds.
  const options = next();
  return options.length >= 4 && options.readUInt32BE(options.length - 4) <= MAX_ROUNDS;
}

/** Credentials of a source of kind `sftp`. A server may ask for both a key and a password. */
export const SftpCredentials = v.pipe(
  v.strictObject({
    password: v.optional(secretText(1_024)),
    private_key: v.optional(
      v.pipe(
        secretText(16_384),
        v.regex(/^\s*(?:-----BEGIN |PuTTY-User-Key-File-)/, KEY_RULE),
        v.check(hasFewRounds, ROUNDS_RULE),
      ),
    ),
    passphrase: v.optional(secretText(1_024)),
  }),
  documented({
    examples: [
      { password: 'correct horse battery staple' },
      { private_key: '-----BEGIN OPENSSH PRIVATE KEY-----\n…', passphrase: 'correct horse battery staple' },
    ],
  }),
  v.check(
    ({ password, private_key }) => password !== undefined || private_key !== undefined,
    'must have "password" or "private_key"',
  ),
  memberRule(
    'passphrase',
    ({ passphrase, private_key }) => passphrase === undefined || private_key !== undefined,
    'belongs to "private_key", which is missing',
  ),
);
export type SftpCredentials = v.InferOutput<typeof SftpCredentials>;

/**
 * The folder that contains the folder sources of a customer.
 * @param sourcesDir SOURCES_DIR; undefined: there are no folder sources.
 * @returns an absolute path, or null.
 */
export const customerFolder = (sourcesDir: string | undefined, customerId: string): string | null =>
  sourcesDir === undefined ? null : join(resolve(sourcesDir), customerId);
