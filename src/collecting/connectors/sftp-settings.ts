import * as v from 'valibot';
import { documented } from '../../validation.ts';
import { After, Host, hasMeaning, MOVE_RULE, NamePattern, plainText, secretText } from './setting-schemas.ts';

const PORT_RULE = 'must be a port: a whole number from 1 to 65535';
const HOST_KEY_RULE =
  'must be the fingerprint of the server\'s host key: "SHA256:" and 43 characters, as ssh-keygen -lf shows it';
const OTHER_FOLDER = 'must be another folder than "path"';
const KEY_RULE = 'must be a private key as a text that begins with "-----BEGIN", or a PuTTY key file';

const Port = v.pipe(
  v.number(PORT_RULE),
  v.integer(PORT_RULE),
  v.minValue(1, PORT_RULE),
  v.maxValue(65_535, PORT_RULE),
);

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
    pattern: v.optional(NamePattern, '*'),
    after: v.optional(After, 'leave'),
    done_path: v.optional(plainText(1_024)),
    failed_path: v.optional(plainText(1_024)),
  }),
  v.forward(
    v.check(({ after, done_path }) => hasMeaning(done_path, after), MOVE_RULE),
    ['done_path'],
  ),
  v.forward(
    v.check(({ after, failed_path }) => hasMeaning(failed_path, after), MOVE_RULE),
    ['failed_path'],
  ),
  v.forward(
    v.check(({ path, done_path }) => done_path !== path, OTHER_FOLDER),
    ['done_path'],
  ),
  v.forward(
    v.check(({ path, failed_path }) => failed_path !== path, OTHER_FOLDER),
    ['failed_path'],
  ),
);
export type SftpSettings = v.InferOutput<typeof SftpSettings>;

/** Credentials of a source of kind `sftp`. A server may ask for both a key and a password. */
export const SftpCredentials = v.pipe(
  v.strictObject({
    password: v.optional(secretText(1_024)),
    private_key: v.optional(
      v.pipe(secretText(16_384), v.regex(/^\s*(?:-----BEGIN |PuTTY-User-Key-File-)/, KEY_RULE)),
    ),
    passphrase: v.optional(secretText(1_024)),
  }),
  v.check(
    ({ password, private_key }) => password !== undefined || private_key !== undefined,
    'must have "password" or "private_key"',
  ),
  v.forward(
    v.check(
      ({ passphrase, private_key }) => passphrase === undefined || private_key !== undefined,
      'belongs to "private_key", which is missing',
    ),
    ['passphrase'],
  ),
);
export type SftpCredentials = v.InferOutput<typeof SftpCredentials>;
