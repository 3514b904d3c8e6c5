import { installPackages, PACKAGES } from './apt.ts';
import { findFirst, findMysql, findRedis, type MysqlBinaries } from './binaries.ts';
import { dockerAnswers } from './docker.ts';

/** Where each wanted server comes from; absent for a server that is not wanted. */
export interface Provision {
  mysql?: MysqlBinaries | 'docker';
  redis?: string | 'docker';
}

export interface ProvisionOptions {
  mysql: boolean;
  redis: boolean;
  install: 'auto' | 'never';
  announce: (line: string) => void;
  /** Searched instead of this process's PATH. */
  path?: string;
}

/**
 * Finds the wanted servers on this machine. For missing ones it uses Docker if its engine answers, else it installs their
 * packages, if that is allowed and this is root on Debian or Ubuntu.
 * @throws {Error} when none of these is possible. It says what is missing and what to type.
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
