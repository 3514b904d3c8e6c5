import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { ensurePackage } from '../../support/installed-program.ts';
import { reservePort } from '../../support/reserved-port.ts';
import { until } from '../../support/until.ts';

const SSHD = '/usr/sbin/sshd';
const INSTALL_TIMEOUT = 10 * 60_000;
const isRoot = process.getuid?.() === 0;

/** Whether a real OpenSSH server can be had here: it is there, or can be installed. */
export const hasOpenSsh = existsSync(SSHD) || (isRoot && existsSync('/usr/bin/apt-get'));
if (!hasOpenSsh)
  console.error('sshd is not installed: tests with it are left out (apt-get install openssh-server).');

/** A user who signs in with a password. The hash is that of PASSWORD (crypt(3), SHA-512). */
export const PASSWORD = 'açık susam';
const PASSWORD_USER = 'ledgerbell-sftp';
const PASSWORD_HASH =
  '$6$ledgerbell$w.WLaKHLTa7tSb2qN5lNKXGxbv2pwiybr9qTwL7YvxJ0QqXCcqxsPpEZqVVP/gVY2ZIAqJSCQRjaCekjROz5p1';

export interface OpenSsh {
  readonly port: number;
  readonly user: string;
  /** A folder on the server that is empty at first; "": there is no server. */
  readonly folder: string;
  /** The fingerprints of its host keys. */
  readonly hostKeys: { ed25519: string; rsa: string };
  /** The key that it lets in, and one that it does not. */
  readonly key: string;
  readonly otherKey: string;
  /** The log of the server. */
  log(): string;
}

interface Options {
  /** The server refuses to change anything. */
  readOnly?: boolean;
  /** The server signs only with SHA-1, as old ones do. */
  sha1?: boolean;
  /** How users sign in. With a password, the server gets a user of its own in a mount namespace: the machine's are untouched. */
  signIn?: 'key' | 'password' | 'prompt';
}

/** Whether a process can have its own /etc/passwd, which needs root and mount namespaces. */
export const hasPasswords = hasOpenSsh && isRoot && canUnshare();

function canUnshare(): boolean {
  try {
    execFileSync('unshare', ['--mount', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    console.error('unshare does not work here: tests of SFTP with passwords are left out.');
    return false;
  }
}

/** A real OpenSSH server for this test file, as a process of its own on a loopback port, with its own keys. */
export function useOpenSsh({ readOnly = false, sha1 = false, signIn = 'key' }: Options = {}): OpenSsh {
  let root = '';
  let port = 0;
  let log = '';
  let child: ChildProcess | undefined;
  const made = { ed25519: '', rsa: '', key: '', otherKey: '' };

  beforeAll(async () => {
    if (!hasOpenSsh || (signIn !== 'key' && !hasPasswords)) return;
    await ensurePackage('openssh-server', SSHD, 'for sources of the kind sftp');
    // Where sshd puts its processes before anybody has signed in. Debian's service makes it.
    if (isRoot) await mkdir('/run/sshd', { recursive: true, mode: 0o755 });
    root = await mkdtemp(join(tmpdir(), 'ledgerbell-sshd-'));
    await chmod(root, 0o755); // Other users have to get to their files.
    port = await reservePort();
    for (const type of ['ed25519', 'rsa'] as const) {
      makeKey(type, join(root, type));
      made[type] = fingerprintOf(join(root, type));
    }
    for (const name of ['key', 'otherKey'] as const) {
      makeKey('ed25519', join(root, name));
      made[name] = await readFile(join(root, name), 'utf8');
    }
    await copyFile(join(root, 'key.pub'), join(root, 'authorized_keys'));
    await mkdir(join(root, 'files'));
    await chmod(join(root, 'files'), 0o777);
    await writeFile(join(root, 'sshd_config'), configure(root, port, { readOnly, sha1, signIn }));
    if (signIn !== 'key') await writeUser(root);
    child = start(root, signIn);
    child.stderr?.on('data', (text: Buffer) => (log += text.toString('utf8')));
    await until('sshd listens', () => answers(port));
  }, INSTALL_TIMEOUT);

  afterAll(async () => {
    child?.kill();
    if (root !== '') await rm(root, { recursive: true, force: true });
  });

  return {
    get port() {
      return port;
    },
    user: signIn === 'key' ? userInfo().username : PASSWORD_USER,
    get folder() {
      return root === '' ? '' : join(root, 'files');
    },
    get hostKeys() {
      return made;
    },
    get key() {
      return made.key;
    },
    get otherKey() {
      return made.otherKey;
    },
    log: () => log,
  };
}

function makeKey(type: string, path: string): void {
  execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', 'test', '-f', path]);
}

function fingerprintOf(path: string): string {
  const [, fingerprint = ''] = execFileSync('ssh-keygen', ['-lf', `${path}.pub`], { encoding: 'utf8' }).split(
    ' ',
  );
  return fingerprint;
}

function configure(root: string, port: number, { readOnly, sha1, signIn }: Required<Options>): string {
  return [
    `ListenAddress 127.0.0.1:${port}`,
    `HostKey ${root}/ed25519`,
    `HostKey ${root}/rsa`,
    `AuthorizedKeysFile ${root}/authorized_keys`,
    `PubkeyAuthentication ${signIn === 'key' ? 'yes' : 'no'}`,
    `PasswordAuthentication ${signIn === 'password' ? 'yes' : 'no'}`,
    `KbdInteractiveAuthentication ${signIn === 'prompt' ? 'yes' : 'no'}`,
    `UsePAM ${signIn === 'prompt' ? 'yes' : 'no'}`,
    ...(sha1 ? ['HostKeyAlgorithms ssh-rsa'] : []),
    'PermitRootLogin prohibit-password',
    'StrictModes no',
    'PidFile none',
    'LogLevel VERBOSE',
    'MaxStartups 100',
    // Since 9.8, addresses that fail to sign in are shut out for a while.
    ...(readVersion() >= 9.8 ? ['PerSourcePenalties no'] : []),
    `Subsystem sftp internal-sftp${readOnly ? ' -R' : ''}`,
    '',
  ].join('\n');
}

function readVersion(): number {
  const { stderr } = spawnSync(SSHD, ['-V'], { encoding: 'utf8' });
  return Number(/OpenSSH_(\d+\.\d+)/.exec(stderr)?.[1] ?? 0);
}

async function writeUser(root: string): Promise<void> {
  const passwd = await readFile('/etc/passwd', 'utf8');
  await writeFile(join(root, 'passwd'), `${passwd}${PASSWORD_USER}:x:65533:65533::${root}/files:/bin/sh\n`);
  await writeFile(join(root, 'shadow'), `${PASSWORD_USER}:${PASSWORD_HASH}:20000:0:99999:7:::\n`, {
    mode: 0o600,
  });
}

function start(root: string, signIn: Options['signIn']): ChildProcess {
  const command = [SSHD, '-D', '-e', '-f', join(root, 'sshd_config')];
  const stdio = ['ignore', 'ignore', 'pipe'] as const;
  if (signIn === 'key') return spawn(SSHD, command.slice(1), { stdio: [...stdio] });
  const mounts = ['passwd', 'shadow'].map((name) => `mount --bind ${root}/${name} /etc/${name}`);
  const script = [...mounts, `exec ${command.join(' ')}`].join(' && ');
  return spawn('unshare', ['--mount', 'sh', '-c', script], { stdio: [...stdio] });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    }).on('error', () => resolve(false));
  });
}
