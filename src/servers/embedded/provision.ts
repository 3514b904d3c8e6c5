import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import pRetry, { AbortError } from 'p-retry';
import { isCode, readIfThere } from '../private-file.ts';
import { lastLines, runCommand } from './command.ts';
import { dockerAnswers } from './docker.ts';
import type { MysqlBinaries } from './mysql.ts';

/** Debian's and Ubuntu's packages of the two servers. */
export const PACKAGES = { mysql: 'mariadb-server', redis: 'redis-server' } as const;

/** How long to wait for another apt or dpkg, such as that of a second start at the same time. */
const LOCK_SECONDS = 300;

const POLICY_FILE = '/usr/sbin/policy-rc.d';
const POLICY_MARK = '# Made by Ledgerbell';

/** The two apt-get commands, program first. They run in English, because a held lock is recognised by its message text. */
export function aptCommands(packages: readonly string[]): string[][] {
  const apt = [
    'env',
    'LC_ALL=C',
    'DEBIAN_FRONTEND=noninteractive',
    'apt-get',
    '-o',
    `DPkg::Lock::Timeout=${LOCK_SECONDS}`,
  ];
  return [
    [...apt, 'update'],
    [...apt, 'install', '-y', '--no-install-recommends', ...packages],
  ];
}

/**
 * Installs Debian packages without questions and without starting their services. Needs root. Waits up to five minutes for
 * another apt.
 * @throws {Error} with the last lines of apt-get's output.
 */
export async function installPackages(packages: readonly string[]): Promise<void> {
  const allowServices = forbidServices();
  try {
    for (const command of aptCommands(packages)) {
      await runApt(command);
    }
  } finally {
    allowServices();
  }
}

/** Retries while a lock is held: `DPkg::Lock::Timeout` covers dpkg's lock, but not the one of the package lists. */
function runApt([program = '', ...args]: readonly string[]): Promise<void> {
  return pRetry(
    async () => {
      const { ok, output } = await runCommand(program, args);
      if (!ok) {
        const error = new Error(`apt-get failed. Its last lines:\n${lastLines(output)}`);
        throw /could not get lock|unable to lock/i.test(output) ? error : new AbortError(error);
      }
    },
    { retries: LOCK_SECONDS, factor: 1, minTimeout: 1_000, maxRetryTime: LOCK_SECONDS * 1_000 },
  );
}

/**
 * Debian's packages start their service immediately, unless policy-rc.d forbids it (invoke-rc.d(8): 101 is "forbidden").
 * An administrator's own policy is kept. Ours has no effect once this process has ended, even if it was killed.
 * @returns a function that removes our policy.
 */
function forbidServices(): () => void {
  const content = `#!/bin/sh\n${POLICY_MARK}, for as long as its process runs.\n[ -d /proc/${process.pid} ] && exit 101\nexit 0\n`;
  if (readIfThere(POLICY_FILE)?.includes(POLICY_MARK)) {
    rmSync(POLICY_FILE, { force: true });
  }
  try {
    writeFileSync(POLICY_FILE, content, { flag: 'wx', mode: 0o755 });
    // The mode above is subject to the umask.
    chmodSync(POLICY_FILE, 0o755);
  } catch (error) {
    if (isCode(error, 'EEXIST')) {
      return () => {};
    }
    throw error;
  }
  return () => {
    if (readIfThere(POLICY_FILE) === content) {
      rmSync(POLICY_FILE, { force: true });
    }
  };
}

/** The origin of each wanted server; absent for a server that is not wanted. */
export interface Provision {
  mysql?: MysqlBinaries | 'docker';
  redis?: string | 'docker';
}

interface ProvisionOptions {
  mysql: boolean;
  redis: boolean;
  install: 'auto' | 'never';
  announce: (line: string) => void;
  /** Searched instead of this process's PATH. */
  path?: string;
}

/**
 * Finds the wanted servers on this machine. For missing servers it uses Docker if the engine answers. Otherwise it installs their
 * packages if that is allowed and this process is root on Debian or Ubuntu.
 * @throws {Error} when none of these is possible. The message says what is missing and what to type.
 */
export async function provide(options: ProvisionOptions): Promise<Provision> {
  const found = await findOnMachine(options);
  const missing = missingOf(options, found);
  if (missing.length === 0) {
    return found;
  }
  if (await dockerAnswers(options.path)) {
    options.announce(`${describe(missing)} not found on this machine: using Docker for it.`);
    return { ...found, ...Object.fromEntries(missing.map((server) => [server, 'docker'])) };
  }
  if (options.install === 'auto' && process.getuid?.() === 0) {
    if ((await findFirst(['apt-get'], options.path)) !== null) {
      const packages = missing.map((server) => PACKAGES[server]);
      options.announce(
        `${describe(missing)} not found on this machine: installing ${packages.join(' and ')} with apt-get (EMBEDDED_INSTALL=never refuses this).`,
      );
      await installPackages(packages);
      const installed = await findOnMachine(options);
      if (missingOf(options, installed).length === 0) {
        return installed;
      }
    }
  }
  throw new Error(howToGet(missing));
}

type Server = 'mysql' | 'redis';

async function findOnMachine({ mysql, redis, path }: ProvisionOptions): Promise<Provision> {
  const [mysqlFound, redisFound] = await Promise.all([
    mysql ? findMysql(path) : null,
    redis ? findRedis(path) : null,
  ]);
  return {
    ...(mysqlFound === null ? {} : { mysql: mysqlFound }),
    ...(redisFound === null ? {} : { redis: redisFound }),
  };
}

function missingOf(wanted: ProvisionOptions, found: Provision): Server[] {
  return (['mysql', 'redis'] as const).filter((server) => wanted[server] && found[server] === undefined);
}

const NAMES = {
  mysql: 'MySQL or MariaDB (mariadbd or mysqld)',
  redis: 'Redis (redis-server or valkey-server)',
};

function describe(missing: readonly Server[]): string {
  return missing.map((server) => NAMES[server]).join(' and ');
}

function howToGet(missing: readonly Server[]): string {
  const urls = { mysql: 'DATABASE_URL', redis: 'REDIS_URL' };
  const formulas = { mysql: 'mariadb', redis: 'redis' };
  return [
    `${describe(missing)} not found on this machine. Install it, then start again:`,
    `  Debian, Ubuntu:  sudo apt-get install -y --no-install-recommends ${missing.map((s) => PACKAGES[s]).join(' ')}`,
    `  macOS:           brew install ${missing.map((s) => formulas[s]).join(' ')}`,
    '  Docker:          sudo systemctl start docker   (Ledgerbell then starts the servers of docker-compose.yml itself)',
    `Or use servers you have: set ${missing.map((s) => urls[s]).join(' and ')}.`,
  ].join('\n');
}

/** Directories with servers, which are often missing from a user's PATH. */
const SERVER_DIRECTORIES = '/usr/sbin:/usr/local/sbin:/usr/libexec';

/** The absolute path of redis-server or valkey-server; null when the machine has neither. */
export function findRedis(path?: string): Promise<string | null> {
  return findFirst(['redis-server', 'valkey-server'], path);
}

/**
 * MariaDB or MySQL, whichever comes first in PATH; MariaDB if both are in the same directory. A MariaDB without the program
 * that creates its data directory counts as missing.
 */
export async function findMysql(path?: string): Promise<MysqlBinaries | null> {
  const server = await findFirst(['mariadbd', 'mysqld'], path);
  if (server === null) {
    return null;
  }
  const version = await runCommand(server, ['--no-defaults', '--version']);
  if (!version.stdout.includes('MariaDB')) {
    return { flavor: 'mysql', server };
  }
  const installer = await findFirst(['mariadb-install-db', 'mysql_install_db'], path);
  return installer === null ? null : { flavor: 'mariadb', server, installer };
}

/** `set -f` keeps the shell from expanding a `*` in the name of a directory. */
const SEARCH = `
  set -f; IFS=:
  for directory in $LOOKED_IN; do
    for name; do
      program="$directory/$name"
      if [ -f "$program" ] && [ -x "$program" ]; then echo "$program"; exit; fi
    done
  done
  exit 1`;

/**
 * Finds the first directory in PATH that has one of `names`. A shell searches the PATH it inherits.
 * @param path Searched instead of PATH and the usual directories of servers.
 * @returns the path of the first of `names` in that directory, or null.
 */
export async function findFirst(names: readonly string[], path?: string): Promise<string | null> {
  const more = path === undefined ? `:${SERVER_DIRECTORIES}` : '';
  const script = `LOOKED_IN="$PATH${more}"; ${SEARCH}`;
  const { ok, stdout } = await runCommand('/bin/sh', ['-c', script, 'sh', ...names], { path });
  return ok ? stdout.trim() : null;
}
