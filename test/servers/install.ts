import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lastLines, runCommand } from '../../src/servers/embedded/command.ts';
import { findFirst, installPackages } from '../../src/servers/embedded/provision.ts';
import { installOnce } from './cache.ts';
import { SERVERS, type ServerName, type ServerPackage } from './catalog.ts';
import { findMirror } from './mirror.ts';

interface Progress {
  announce: (line: string) => void;
  /** Ends what is running and removes what is unfinished. */
  signal: AbortSignal;
}

/**
 * Installs one of the servers on this Debian machine, in a folder of its own. Nothing else on the machine changes, except that
 * debootstrap is installed if it is missing. Installing needs root, using the server does not.
 * @returns the folder. Its `bin` has the programs, for PATH.
 * @throws {Error} with one line, or with the last lines of debootstrap's output.
 */
export function installServer(name: ServerName, { announce, signal }: Progress): Promise<string> {
  const server: ServerPackage = SERVERS[name];
  return installOnce(
    name,
    async (folder, home) => {
      if (process.getuid?.() !== 0 || (await findFirst(['apt-get'])) === null) {
        const variable = server.role === 'mysql' ? 'TEST_DATABASE_URL' : 'TEST_REDIS_URL';
        throw new Error(
          `${name} is not installed. Run this as root on Debian, which installs it, or set ${variable} to a ${server.product} of yours.`,
        );
      }
      announce(
        `Installing ${name} from Debian ${server.suite} into ${home}: some 300 to 600 MB, a minute or two.`,
      );
      await installDebian(join(folder, 'root'), server, { announce, signal });
      await addPrograms(server, folder, home);
    },
    { signal },
  );
}

/** Installs a small Debian with some packages in a folder. Needs root. */
export async function installDebian(
  root: string,
  { suite, packages }: Pick<ServerPackage, 'suite' | 'packages'>,
  { announce, signal }: Progress,
): Promise<void> {
  if ((await findFirst(['debootstrap'])) === null) {
    announce('debootstrap not found on this machine: installing it with apt-get.');
    await installPackages(['debootstrap', 'debian-archive-keyring']);
  }
  const proxies = await proxySettings();
  const include = packages.length === 0 ? [] : [`--include=${packages.join(',')}`];
  await debootstrap([...include, suite, root, await findMirror(suite, proxies)], proxies, signal);
}

/** apt has its own setting for a proxy; wget, which debootstrap uses, reads the environment. */
async function proxySettings(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const scheme of ['http', 'https']) {
    const { ok, stdout } = await runCommand('apt-config', ['shell', 'PROXY', `Acquire::${scheme}::Proxy`]);
    const proxy = /^PROXY='(https?:[^']+)'/.exec(stdout)?.[1];
    if (ok && proxy !== undefined) found[`${scheme}_proxy`] = proxy;
  }
  return found;
}

/** Runs debootstrap in its own namespaces, if these are allowed: its mounts and processes then end with it in any case. */
async function debootstrap(args: string[], env: Record<string, string>, signal: AbortSignal): Promise<void> {
  const apart = ['unshare', '--mount', '--pid', '--fork', '--kill-child'];
  const allowed = await runCommand('unshare', [...apart.slice(1), 'true']);
  signal.throwIfAborted();
  const child = spawn('env', [...(allowed.ok ? apart : []), 'debootstrap', '--variant=minbase', ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, so that it can be killed as a whole.
    detached: true,
  });
  let output = '';
  const keep = (chunk: Buffer) => {
    output = (output + chunk).slice(-20_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const end = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
  signal.addEventListener('abort', end);
  try {
    const [code] = await once(child, 'close');
    signal.throwIfAborted();
    if (code !== 0) throw new Error(`debootstrap failed. Its last lines:\n${lastLines(output)}`);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/**
 * Adds programs that run directly on this machine, with its files and users. Each starts with the loader and the libraries that
 * it was installed with, which are newer than the machine's own. This needs neither chroot nor root.
 */
async function addPrograms(server: ServerPackage, folder: string, home: string): Promise<void> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await symlink('bin', join(folder, 'sbin'));
  await symlink('root/usr/share', join(folder, 'share'));
  await symlink('root/usr/lib', join(folder, 'lib'));
  const libraries = join(folder, 'root/usr/lib');
  const architecture = readdirSync(libraries).find((name) => /-linux-gnu/.test(name)) ?? '';
  const loader = readdirSync(join(libraries, architecture)).find((name) =>
    /^ld-linux.*\.so\.\d+$/.test(name),
  );
  if (loader === undefined) throw new Error(`No loader in ${join(libraries, architecture)}.`);
  const own = join(home, 'lib', architecture);
  const programs = [...server.programs, ...(server.helpers ?? [])];
  for (const program of programs) {
    const path = ['usr/sbin', 'usr/bin'].find((directory) =>
      readdirSync(join(folder, 'root', directory)).includes(program),
    );
    if (path === undefined) throw new Error(`${program} is not in ${server.packages.join(' and ')}.`);
    const file = join(home, 'root', path, program);
    const isScript =
      (await runCommand('head', ['-c', '2', join(folder, 'root', path, program)])).stdout === '#!';
    const start = isScript ? ['/bin/sh', file] : [join(own, loader), '--library-path', own, file];
    const options = server.programs.includes(program) ? (server.options?.(home) ?? []) : [];
    await writeFile(
      join(bin, program),
      `#!/bin/sh\nexec ${start.map(quote).join(' ')} "$@" ${options.map(quote).join(' ')}\n`,
      { mode: 0o755 },
    );
    await chmod(join(bin, program), 0o755);
  }
}

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
