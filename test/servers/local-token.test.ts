import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createOperatorToken } from '../../src/platform/tokens.ts';
import { identify } from '../../src/servers/embedded/process-identity.ts';
import { findLocalTokens, publishLocalToken } from '../../src/servers/local-token.ts';
import { modeOf, temporaryDirectory } from './embedded/directory.ts';

const URL = 'http://127.0.0.1:3001';
const uid = process.getuid?.() ?? 0;
/** Only root can give a file to somebody else. */
const asRoot = it.skipIf(uid !== 0);
const NOBODY = 65_534;

let root: string;
let dataDir: string;

beforeEach(async () => {
  root = await temporaryDirectory();
  dataDir = join(root, 'data');
  await mkdir(join(root, 'tmp'));
  vi.stubEnv('TMPDIR', join(root, 'tmp'));
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const publish = (directories: { dataDir?: string; runtimeDirs?: string[] } = {}) => {
  const token = createOperatorToken();
  const withdraw = publishLocalToken({ dataDir, runtimeDirs: [], ...directories, token, url: URL });
  return { token, withdraw };
};
const find = (runtimeDirs: string[] = []) =>
  findLocalTokens({ dataDir, runtimeDirs }).map(({ token }) => token);

async function onlyFile(directory = dataDir): Promise<string> {
  const [name = '', ...others] = await readdir(directory);
  expect(others).toEqual([]);
  return join(directory, name);
}

/** A path in which nothing can be created, not even by root. */
async function readOnly(): Promise<string> {
  await writeFile(join(root, 'file'), '');
  return join(root, 'file', 'data');
}

it('a local token has 256 random bits', () => {
  const token = createOperatorToken();
  expect(token).toMatch(/^lbop_[A-Za-z0-9_-]{43}$/);
  expect(createOperatorToken()).not.toBe(token);
});

it('a token is found in DATA_DIR, in a file for its owner only, until it is withdrawn', async () => {
  const { token, withdraw } = publish();
  expect(findLocalTokens({ dataDir, runtimeDirs: [] })).toEqual([
    { ...identify(process.pid), url: URL, token },
  ]);
  const path = await onlyFile();
  expect(await modeOf(path)).toBe('600');
  expect(path).toMatch(new RegExp(`/operator-token\\.(\\d+-)?${process.pid}\\.json$`));
  withdraw?.();
  expect(await readdir(dataDir)).toEqual([]);
  expect(find()).toEqual([]);
  withdraw?.();
});

it('a DATA_DIR that does not exist has no tokens', () => {
  expect(find()).toEqual([]);
});

it('a process withdraws only the token that it has published itself', async () => {
  const first = publish();
  const second = publish();
  first.withdraw?.();
  expect(find()).toEqual([second.token]);
});

it('the newest of several tokens is first', async () => {
  const older = publish();
  const path = await onlyFile();
  const other = path.replace(`${process.pid}.json`, '0.json');
  await rename(path, other);
  await utimes(other, 1_000, 1_000);
  const newer = publish();
  expect(find()).toEqual([newer.token, older.token]);
});

describe('what lies in the place of the file', () => {
  it.each([
    ['a file of an ended process', (path: string) => writeFile(path, '{}')],
    [
      'a symbolic link',
      async (path: string) => {
        await writeFile(join(root, 'target'), 'theirs');
        await symlink(join(root, 'target'), path);
      },
    ],
    ['a broken symbolic link', (path: string) => symlink(join(root, 'target'), path)],
  ])('%s is replaced, and not written to', async (_, make) => {
    publish().withdraw?.();
    publish();
    const path = await onlyFile();
    await rm(path);
    await make(path);
    const { token } = publish();
    expect((await lstat(path)).isFile()).toBe(true);
    expect(await modeOf(path)).toBe('600');
    expect(find()).toEqual([token]);
    expect(await readFile(join(root, 'target'), 'utf8').catch(() => 'theirs')).toBe('theirs');
    expect(await readdir(dataDir)).toHaveLength(1);
  });

  it('a directory makes the service use another place', async () => {
    publish();
    const path = await onlyFile();
    await rm(path);
    await mkdir(path);
    expect(find()).toEqual([]);
    const { token } = publish();
    expect(find()).toEqual([token]);
    expect(await readdir(dataDir)).toHaveLength(1);
  });
});

describe('a file is ignored and left alone', () => {
  it.each([
    [
      'when it is a symbolic link to a valid file',
      async (path: string) => {
        await rename(path, join(root, 'target'));
        await symlink(join(root, 'target'), path);
      },
    ],
    ['when its group may read it', (path: string) => chmod(path, 0o640)],
    ['when everybody may write to it', (path: string) => chmod(path, 0o602)],
    [
      'when it is larger than 4 KiB',
      async (path: string) => writeFile(path, (await readFile(path, 'utf8')).padEnd(4097)),
    ],
    ['when it is empty', (path: string) => writeFile(path, '')],
    ['when it is not JSON', (path: string) => writeFile(path, '{"pid":')],
    ['when it is another document', (path: string) => writeFile(path, '[null]')],
    [
      'when it is a named pipe',
      async (path: string) => {
        await rm(path);
        await promisify(execFile)('mkfifo', ['-m', '600', path]);
      },
    ],
    ['when its pid is used by another process', (path: string) => rewrite(path, { startTime: 'long ago' })],
    ['when its process has ended', async (path: string) => rewrite(path, await ended())],
    ['when its token is not one', (path: string) => rewrite(path, { token: 'lbop_\r\nX: y' })],
    ['when its URL is of another protocol', (path: string) => rewrite(path, { url: 'file:///etc' })],
  ])('%s', async (_, change) => {
    publish();
    const path = await onlyFile();
    await change(path);
    expect(find()).toEqual([]);
    expect(await onlyFile()).toBe(path);
  });

  it('when a process of another container has written it, even if pid and start time are equal', async () => {
    publish();
    const path = await onlyFile();
    const other = join(dataDir, `operator-token.1-${process.pid}.json`);
    await rename(path, other);
    expect(find()).toEqual([]);
    const { token } = publish();
    expect(find()).toEqual([token]);
    expect(await readdir(dataDir)).toHaveLength(2);
  });

  it('when the pid is not a number', async () => {
    publish();
    await rewrite(await onlyFile(), { pid: '../self' });
    expect(find()).toEqual([]);
  });

  asRoot('when it belongs to somebody else', async () => {
    publish();
    const path = await onlyFile();
    await chown(path, NOBODY, NOBODY);
    expect(find()).toEqual([]);
    expect(await onlyFile()).toBe(path);
  });
});

it('a file of exactly 4 KiB is read', async () => {
  const { token } = publish();
  const path = await onlyFile();
  await writeFile(path, (await readFile(path, 'utf8')).padEnd(4096));
  expect(find()).toEqual([token]);
});

describe('when DATA_DIR cannot be written', () => {
  it('the token is in the first runtime directory that can be, under a name for this DATA_DIR', async () => {
    dataDir = await readOnly();
    const runtimeDir = join(root, 'run');
    await mkdir(runtimeDir);
    const runtimeDirs = [join(root, 'missing'), runtimeDir];
    const { token, withdraw } = publish({ runtimeDirs });
    const path = await onlyFile(runtimeDir);
    expect(await modeOf(path)).toBe('600');
    expect(find(runtimeDirs)).toEqual([token]);
    expect(
      findLocalTokens({ dataDir: join(root, 'other'), runtimeDirs }).map((record) => record.token),
    ).toEqual([]);
    withdraw?.();
    expect(await readdir(runtimeDir)).toEqual([]);
  });

  it('without a runtime directory, the token is in a folder of this user in the folder for temporary files', async () => {
    dataDir = await readOnly();
    const { token } = publish();
    const folder = join(root, 'tmp', `ledgerbell-${uid}`);
    expect(await modeOf(folder)).toBe('700');
    expect(await modeOf(await onlyFile(folder))).toBe('600');
    expect(find()).toEqual([token]);
    const again = publish();
    expect(find()).toEqual([again.token]);
  });

  it.each([
    [
      'a symbolic link',
      async (folder: string) => {
        await mkdir(join(root, 'theirs'), { mode: 0o700 });
        await symlink(join(root, 'theirs'), folder);
      },
    ],
    ['a file', (folder: string) => writeFile(folder, '')],
    [
      'a folder that others can write to',
      async (folder: string) => {
        await mkdir(folder);
        await chmod(folder, 0o777);
      },
    ],
  ])('no token is published when that folder is %s', async (_, make) => {
    dataDir = await readOnly();
    await make(join(root, 'tmp', `ledgerbell-${uid}`));
    expect(publish().withdraw).toBeNull();
    expect(find()).toEqual([]);
  });

  asRoot('no token is published in a folder of somebody else, and none is read from it', async () => {
    dataDir = await readOnly();
    publish();
    const folder = join(root, 'tmp', `ledgerbell-${uid}`);
    await chown(folder, NOBODY, NOBODY);
    expect(find()).toEqual([]);
    await rm(await onlyFile(folder));
    expect(publish().withdraw).toBeNull();
    expect(await readdir(folder)).toEqual([]);
  });
});

async function rewrite(path: string, change: object): Promise<void> {
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), ...change }));
}

/** The identity of a process that has ended. */
async function ended() {
  // It lives until its identity is known.
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const identity = identify(child.pid ?? 0);
  child.stdin.end();
  await once(child, 'exit');
  return identity ?? {};
}
