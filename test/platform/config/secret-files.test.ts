import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../../src/platform/config.ts';

const directory = mkdtempSync(join(tmpdir(), 'ledgerbell-secrets-'));
afterAll(() => rmSync(directory, { recursive: true }));

const KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER = Buffer.alloc(32, 8).toString('base64');

let files = 0;
function file(content: string): string {
  files += 1;
  const path = join(directory, String(files));
  writeFileSync(path, content);
  return path;
}

function refusal(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    const { message } = error as ConfigError;
    expect(message).toMatch(/^[^\r\n]+\.$/);
    expect(message).not.toMatch(/MARKER/);
    return message;
  }
  throw new Error('accepted');
}

describe('a secret in a file', () => {
  it.each([
    ['DATABASE_URL', 'mysql://u:p@host/db', 'databaseUrl', 'mysql://u:p@host/db'],
    ['REDIS_URL', 'redis://:p@host', 'redisUrl', 'redis://:p@host'],
    ['SECRET_KEY', KEY, 'secretKey', KEY],
    ['SECRET_KEY_PREVIOUS', `${KEY}, ${OTHER}`, 'previousSecretKeys', [KEY, OTHER]],
    ['ADMIN_PASSWORD', ' a:b-c-d-e-f ', 'admin', { user: 'ops', password: ' a:b-c-d-e-f ' }],
  ])('is read for %s, without the line break at its end', (name, content, setting, value) => {
    const rest = {
      ...(name === 'SECRET_KEY' ? {} : { SECRET_KEY: KEY }),
      ...(name === 'ADMIN_PASSWORD' ? { ADMIN_USER: 'ops' } : {}),
    };
    for (const end of ['', '\n', '\r\n']) {
      expect(readConfig({ ...rest, [`${name}_FILE`]: file(content + end) })).toMatchObject({
        [setting]: value,
      });
    }
    expect(readConfig({ ...rest, [name]: content, [`${name}_FILE`]: '' })).toMatchObject({
      [setting]: value,
    });
  });

  it('loses only one line break', () => {
    expect(
      readConfig({ ADMIN_USER: 'ops', ADMIN_PASSWORD_FILE: file('long enough\n\n') }).admin?.password,
    ).toBe('long enough\n');
  });

  it('is refused when the variable itself is also set', () => {
    expect(refusal({ SECRET_KEY: KEY, SECRET_KEY_FILE: file('MARKER') })).toBe(
      'SECRET_KEY and SECRET_KEY_FILE are both set: set only one of them.',
    );
  });

  it('that is missing, unreadable or empty is refused without showing its path', () => {
    const cannotBeRead = /^REDIS_URL_FILE must be the path of a readable file \((ENOENT|EISDIR)\)\.$/;
    expect(refusal({ REDIS_URL_FILE: join(directory, 'MARKER') })).toMatch(cannotBeRead);
    expect(refusal({ REDIS_URL_FILE: directory })).toMatch(cannotBeRead);
    expect(refusal({ REDIS_URL_FILE: file('\n') })).toMatch(/^REDIS_URL_FILE must be .*not empty/);
  });

  it('with an invalid value is named with its file variable', () => {
    expect(refusal({ SECRET_KEY_FILE: file('MARKER') })).toMatch(
      /^SECRET_KEY \(from SECRET_KEY_FILE\) must be 32 bytes/,
    );
  });
});
