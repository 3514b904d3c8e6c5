import { installPackages, PACKAGES } from './apt.ts';
import { runCommand } from './command.ts';
import { dockerAnswers } from './docker.ts';
import type { MysqlBinaries } from './mysql.ts';

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
