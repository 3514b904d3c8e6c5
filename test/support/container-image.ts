import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installOnce } from '../servers/cache.ts';
import { installDebian } from '../servers/install.ts';
import { installNode } from '../servers/node.ts';
import { findProgram } from './installed-program.ts';

const NODE = '24';
const announce = (line: string) => console.error(line);
const { signal } = new AbortController();
const run = promisify(execFile);

export interface Podman {
  /** Runs podman. @returns what it prints. @throws with its output. */
  (...args: string[]): Promise<string>;
  /** The options that all commands need. */
  options: readonly string[];
  /** Removes all images and containers. */
  end(): Promise<void>;
}

/** Podman with a storage of its own; null, after a line that says so, where it cannot be installed. Needs root. */
export async function startPodman(): Promise<Podman | null> {
  const leftOut = 'The image is not built';
  const isThere =
    (await findProgram('podman', 'podman', leftOut)) &&
    (await findProgram('runc', 'runc', leftOut)) &&
    process.getuid?.() === 0;
  if (!isThere) return null;
  const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-podman-'));
  const options = [
    ...[
      '--root',
      join(directory, 'storage'),
      '--runroot',
      join(directory, 'run'),
      '--tmpdir',
      join(directory, 'tmp'),
    ],
    ...['--runtime', 'runc', '--cgroup-manager', 'cgroupfs'],
  ];
  const podman = async (...args: string[]) =>
    (await run('podman', [...options, ...args], { maxBuffer: 50_000_000 })).stdout.trim();
  return Object.assign(podman, {
    options,
    async end() {
      await podman('rm', '--all', '--force', '--time', '0');
      spawnSync('umount', [join(directory, 'storage/overlay')]);
      await rm(directory, { recursive: true, force: true });
    },
  });
}

/**
 * Imports an image in the place of `node:24-slim`, which no registry of packages has: Debian, Node and npm, and the user `node`.
 * @returns its name.
 */
export async function importNodeImage(podman: Podman): Promise<string> {
  const home = await installOnce(`node-image-${NODE}`, async (folder) => {
    const root = join(folder, 'root');
    await fill(root);
    await run('tar', ['-cf', join(folder, ARCHIVE), '--numeric-owner', '-C', root, '.']);
    await rm(root, { recursive: true });
  });
  const name = 'localhost/node-of-the-tests';
  const variables = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
  if (CERTIFICATES !== undefined) variables.push('NODE_EXTRA_CA_CERTS=/etc/ca.crt');
  const changes = variables.flatMap((variable) => ['--change', `ENV ${variable}`]);
  await podman('import', ...changes, join(home, ARCHIVE), name);
  return name;
}

const ARCHIVE = 'image.tar';

/** Of a machine whose network needs certificates of its own. npm needs them in the image too. */
const { NODE_EXTRA_CA_CERTS: CERTIFICATES } = process.env;

async function fill(root: string): Promise<void> {
  announce(`Making a Debian with Node ${NODE} for the image: some 300 MB, a minute.`);
  await installDebian(root, { suite: 'bookworm', packages: [] }, { announce, signal });
  const local = join(root, 'usr/local');
  await cp(join(await installNode(NODE, { announce, signal }), 'node'), join(local, 'bin/node'));
  const npm = join((await run('npm', ['root', '--global'])).stdout.trim(), 'npm');
  await cp(npm, join(local, 'lib/node_modules/npm'), { recursive: true, dereference: true });
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'));
  await run('chroot', [root, 'useradd', '--uid', '1000', '--create-home', 'node']);
  if (CERTIFICATES !== undefined) await cp(CERTIFICATES, join(root, 'etc/ca.crt'), { dereference: true });
  for (const unused of ['var/cache/apt', 'var/lib/apt/lists'])
    await rm(join(root, unused), { recursive: true, force: true });
}
