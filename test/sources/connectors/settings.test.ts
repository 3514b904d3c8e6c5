import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { toValidationIssue } from '../../../src/platform/validation.ts';
import {
  HttpCredentials,
  HttpSettings,
  S3Credentials,
  S3Settings,
  SftpCredentials,
  SftpSettings,
} from '../../../src/sources/connectors/settings.ts';

/** The errors of an input, as "path: message". */
function issues(schema: v.GenericSchema<unknown, unknown>, input: unknown): string[] {
  const { issues: found = [] } = v.safeParse(schema, input, { abortPipeEarly: true });
  return found.map(toValidationIssue).map(({ path, message }) => `${path}: ${message}`);
}

const KEY = 'SHA256:mVPwvezndPv/ARoIadVY98vAC0g+P/5633yTC4d/wXE';
const sftp = { host: 'sftp.bank.example', user: 'firma', host_key: KEY };
const http = { url: 'https://bank.example/export.csv' };
const s3 = { bucket: 'statements' };

describe('valid settings of a source', () => {
  it('have defaults', () => {
    expect(v.parse(SftpSettings, sftp)).toEqual({
      ...sftp,
      port: 22,
      path: '.',
      pattern: '*',
      after: 'leave',
    });
    expect(v.parse(HttpSettings, http)).toEqual({ ...http, format: 'file' });
    expect(v.parse(S3Settings, s3)).toEqual({ ...s3, region: 'us-east-1', pattern: '*', after: 'leave' });
  });

  it.each([
    [
      SftpSettings,
      { ...sftp, host: '93.184.216.34', port: 2222, path: '/out', after: 'move', done_path: '/out/ok' },
    ],
    [SftpSettings, { ...sftp, host: '2001:db8::1' }],
    [SftpCredentials, { password: 'p' }],
    [SftpCredentials, { private_key: '-----BEGIN OPENSSH PRIVATE KEY-----\n…', passphrase: 'p' }],
    [SftpCredentials, { private_key: 'PuTTY-User-Key-File-3: ssh-ed25519\n…', password: 'p' }],
    [
      HttpSettings,
      { ...http, format: 'json', json: { cursor_path: 'meta.next', cursor_parameter: 'cursor' } },
    ],
    [HttpCredentials, {}],
    [HttpCredentials, { user: 'firma', password: 'p', headers: { 'X-Customer': '7' } }],
    [
      S3Settings,
      { ...s3, endpoint: 'https://minio.bank.example', path_style: false, prefix: 'in/', after: 'move' },
    ],
    [S3Credentials, { access_key_id: 'AKIA', secret_access_key: 's' }],
  ])('pass the check (case %#)', (schema, input) => {
    expect(issues(schema, input)).toEqual([]);
  });
});

describe('invalid settings of a source', () => {
  it.each([
    [SftpSettings, { host: 'h', user: 'u' }, 'host_key: is required'],
    [SftpSettings, { ...sftp, host_key: 'MD5:16:27' }, 'host_key: must be the fingerprint'],
    [SftpSettings, { ...sftp, host: 'sftp://h' }, 'host: must be a host name'],
    [SftpSettings, { ...sftp, port: 0 }, 'port: must be a port'],
    [SftpSettings, { ...sftp, user: '' }, 'user: must not be empty'],
    [SftpSettings, { ...sftp, path: 'a\nb' }, 'path: must not contain control characters'],
    [SftpSettings, { ...sftp, pattern: 'out/*.sta' }, 'pattern: must be a pattern of file names'],
    [SftpSettings, { ...sftp, after: 'delete' }, 'after: must be "leave" or "move"'],
    [SftpSettings, { ...sftp, done_path: '/done' }, 'done_path: needs "after": "move"'],
    [
      SftpSettings,
      { ...sftp, path: '/a', after: 'move', failed_path: '/a' },
      'failed_path: must be another folder',
    ],
    [SftpSettings, { ...sftp, password: 'p' }, 'password: is not a known field'],
    [SftpCredentials, {}, ': must have "password" or "private_key"'],
    [SftpCredentials, { private_key: 'ssh-ed25519 AAAA' }, 'private_key: must be a private key'],
    [SftpCredentials, { password: 'p', passphrase: 'q' }, 'passphrase: belongs to "private_key"'],
    [HttpSettings, { url: 'ftp://bank.example/' }, 'url: must begin with https:'],
    [HttpSettings, { url: 'https://user:p@bank.example/' }, 'url: must not contain a user name'],
    [
      HttpSettings,
      { ...http, json: { cursor_path: 'a', cursor_parameter: 'b' } },
      'json: needs "format": "json"',
    ],
    [HttpSettings, { ...http, start: 'first_page' }, 'start: needs "format": "json"'],
    [HttpCredentials, { bearer: 'a', user: 'b' }, ': must have either "bearer"'],
    [HttpCredentials, { password: 'p' }, 'password: belongs to "user"'],
    [HttpCredentials, { user: 'a:b', password: 'p' }, 'user: must not contain a colon'],
    [HttpCredentials, { bearer: 'a\r\nHost: b' }, 'bearer: must be visible ASCII'],
    [HttpCredentials, { headers: { Host: 'x' } }, 'headers.Host: must not set host'],
    [HttpCredentials, { headers: { 'X-A': 'ş' } }, 'headers.X-A: must be visible ASCII'],
    [S3Settings, {}, 'bucket: is required'],
    [S3Settings, { bucket: 'Statements' }, 'bucket: must be the name of a bucket'],
    [S3Settings, { ...s3, endpoint: 's3.bank.example' }, 'endpoint: must begin with https:'],
    [
      S3Settings,
      { ...s3, after: 'move', done_prefix: 'done' },
      'done_prefix: must be a prefix that ends with "/"',
    ],
    [
      S3Settings,
      { ...s3, prefix: 'in/', after: 'move', failed_prefix: 'in/' },
      'failed_prefix: must be a prefix',
    ],
    [S3Credentials, { access_key_id: 'AKIA' }, 'secret_access_key: is required'],
  ])('are refused with the name of the key (case %#)', (schema, input, issue) => {
    const found = issues(schema, input);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^${issue.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`));
  });

  it('are refused without showing a secret', () => {
    const secret = 'çok-gizli-değer';
    for (const [schema, input] of [
      [SftpCredentials, { private_key: secret }],
      [HttpCredentials, { bearer: secret }],
      [S3Credentials, { access_key_id: secret, secret_access_key: secret, other: secret }],
    ] as const) {
      expect(JSON.stringify(issues(schema, input))).not.toContain(secret);
    }
  });
});

describe('a private key of SFTP', () => {
  const stringOf = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  /** The beginning of a key file of OpenSSH, which ssh-keygen -a makes with up to 2^31 rounds. */
  function keyWith(rounds: number): string {
    const options = Buffer.alloc(24);
    options.writeUInt32BE(16);
    options.writeUInt32BE(rounds, 20);
    const bytes = Buffer.concat([
      Buffer.from('openssh-key-v1\0'),
      ...[Buffer.from('aes256-ctr'), Buffer.from('bcrypt'), options].map(stringOf),
    ]);
    return `-----BEGIN OPENSSH PRIVATE KEY-----\n${bytes.toString('base64')}\n-----END OPENSSH PRIVATE KEY-----\n`;
  }

  it.each([16, 64])('may be encrypted with %i rounds of bcrypt', (rounds) => {
    expect(issues(SftpCredentials, { private_key: keyWith(rounds), passphrase: 'p' })).toEqual([]);
  });

  it.each([65, 400, 2 ** 32 - 1])('must not be encrypted with %i rounds of bcrypt', (rounds) => {
    expect(issues(SftpCredentials, { private_key: keyWith(rounds), passphrase: 'p' })).toEqual([
      'private_key: must be encrypted with at most 64 rounds of bcrypt: ssh-keygen -p -a 16 -f FILE changes them',
    ]);
  });
});
