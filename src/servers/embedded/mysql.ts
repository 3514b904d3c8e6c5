import { closeSync, constants, existsSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { basename, join } from 'node:path';
import mysql from 'mysql2/promise';
import { writePrivate } from '../private-file.ts';
import type { ServerProcess } from './child.ts';
import { lastLines, runCommand } from './command.ts';

export type MysqlBinaries =
  | { flavor: 'mariadb'; server: string; installer: string }
  | { flavor: 'mysql'; server: string };

/**
 * Prepares the embedded MySQL or MariaDB. Creates its data directory (DATA_DIR/mysql) if there is none, and writes its
 * configuration.
 * @param socket Absolute path of the Unix socket, the only way to connect.
 * @param signal aborts the creation of the data directory, and leaves nothing of it behind.
 * @returns the server process to run.
 * @throws {Error} with the last lines of the installer when the data directory cannot be created.
 */
export async function prepareMysql(
  dataDir: string,
  {
    binaries,
    socket,
    password,
    signal,
  }: { binaries: MysqlBinaries; socket: string; password: string; signal?: AbortSignal | undefined },
): Promise<ServerProcess> {
  const dataDirectory = join(dataDir, 'mysql');
  const asRoot = process.getuid?.() === 0;
  await initialise(dataDir, dataDirectory, { binaries, asRoot, signal });
  const temporaryDirectory = join(dataDir, 'mysql-temporary');
  await mkdir(temporaryDirectory, { recursive: true, mode: 0o700 });

  const [configFile, initFile] = [join(dataDir, 'mysql.cnf'), join(dataDir, 'mysql-accounts.sql')];
  const { flavor } = binaries;
  const directIo = takesDirectIo(dataDir);
  const bufferPool = bufferPoolFor(memory());
  writePrivate(initFile, renderMysqlAccounts(flavor, password));
  writePrivate(
    configFile,
    renderMysqlConfig({
      flavor,
      dataDirectory,
      temporaryDirectory,
      socket,
      initFile,
      asRoot,
      directIo,
      bufferPool,
    }),
  );
  const url = `mysql://ledgerbell:${password}@localhost/ledgerbell?socketPath=${encodeURIComponent(socket)}`;
  return {
    name: 'mysql',
    title: 'MySQL',
    command: [binaries.server, `--defaults-file=${configFile}`],
    socket,
    url,
    ping: () => pingMysql(url),
  };
}

/** Connects and runs SELECT 1. Rejects when the server does not answer within two seconds or refuses the password. */
export async function pingMysql(url: string): Promise<void> {
  const connection = await mysql.createConnection({ uri: url, connectTimeout: 2_000 });
  try {
    await connection.query({ sql: 'SELECT 1', timeout: 2_000 });
  } finally {
    connection.destroy();
  }
}

/**
 * The memory of the machine, or of its container, in megabytes. Without a limit, constrainedMemory() gives 0 or more than any
 * machine has.
 */
function memory(): number {
  const limit = process.constrainedMemory();
  return Math.min(totalmem(), limit > 0 ? limit : Number.POSITIVE_INFINITY) / 1_048_576;
}

const UNFINISHED = 'mysql.unfinished-';

/**
 * Creates the data directory under a temporary name and renames it when complete, so that a kill leaves no incomplete directory.
 */
async function initialise(
  dataDir: string,
  dataDirectory: string,
  { binaries, asRoot, signal }: { binaries: MysqlBinaries; asRoot: boolean; signal: AbortSignal | undefined },
): Promise<void> {
  for (const left of readdirSync(dataDir).filter((name) => name.startsWith(UNFINISHED))) {
    // The installer of a killed service may still be writing there, so that removing has to be retried.
    await rm(join(dataDir, left), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
  if (existsSync(dataDirectory)) {
    return;
  }
  const unfinished = await mkdtemp(join(dataDir, UNFINISHED));
  const temporary = await mkdtemp(join(dataDir, UNFINISHED));
  // Relative, because the installer's shell script does not quote the path, and an absolute one may have spaces.
  const options = [
    '--no-defaults',
    `--datadir=./${basename(unfinished)}`,
    ...(asRoot ? ['--user=root'] : []),
  ];
  const command =
    binaries.flavor === 'mariadb'
      ? // --rpm: do not change the owner of system files, and do not check whether this host's name resolves.
        [
          binaries.installer,
          ...options,
          '--rpm',
          '--skip-test-db',
          '--auth-root-authentication-method=normal',
        ]
      : [binaries.server, ...options, '--initialize-insecure'];
  const { ok, output } = await runCommand('env', [`TMPDIR=${temporary}`, ...command], {
    cwd: dataDir,
    signal,
  });
  await rm(temporary, { recursive: true, force: true });
  if (!ok) {
    await rm(unfinished, { recursive: true, force: true });
    signal?.throwIfAborted();
    throw new Error(
      `The first data directory of MySQL could not be made. The last lines:\n${lastLines(output)}`,
    );
  }
  renameSync(unfinished, dataDirectory);
}

/** Whether O_DIRECT works. With tmpfs on older kernels and some network filesystems, the server would not start with it. */
function takesDirectIo(directory: string): boolean {
  if (constants.O_DIRECT === undefined) {
    return false;
  }
  const probe = join(directory, 'direct-io.probe');
  try {
    closeSync(openSync(probe, constants.O_RDWR | constants.O_CREAT | constants.O_DIRECT, 0o600));
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { force: true });
  }
}

interface MysqlSettings {
  flavor: 'mariadb' | 'mysql';
  dataDirectory: string;
  /** Not shared, because a starting server deletes the temporary tables of all other servers in a directory such as /tmp. */
  temporaryDirectory: string;
  socket: string;
  /** SQL run at each start before the first connection is accepted. */
  initFile: string;
  /** Both servers refuse to run as root unless they are configured to. */
  asRoot: boolean;
  /** Whether the filesystem of `dataDirectory` supports O_DIRECT. */
  directIo: boolean;
  /** Megabytes of data and indexes that the server keeps in memory. */
  bufferPool: number;
}

/**
 * A quarter of the memory, from 128 MB to 8,192 MB. If the indexes do not fit, each movement whose id differs much from the
 * previous one causes one page to be read from disk and another to be written. The server allocates the memory only as it fills it.
 * @param memory megabytes of memory that are available.
 */
export const bufferPoolFor = (memory: number): number =>
  Math.min(8_192, Math.max(128, Math.floor(memory / 4)));

/** The complete option file of the embedded server. It reads no other file, so nothing in /etc affects it. */
function renderMysqlConfig(settings: MysqlSettings): string {
  const options: Record<string, string | number> = {
    datadir: settings.dataDirectory,
    tmpdir: settings.temporaryDirectory,
    socket: settings.socket,
    'init-file': settings.initFile,
    ...(settings.asRoot ? { user: 'root' } : {}),
    'skip-networking': 1,
    'skip-name-resolve': 1,
    'local-infile': 0,
    'character-set-server': 'utf8mb4',
    'collation-server': 'utf8mb4_unicode_ci',
    'default-time-zone': '+00:00',
    'transaction-isolation': 'READ-COMMITTED',
    'default-storage-engine': 'InnoDB',
    // A commit is on disk before it is reported.
    innodb_flush_log_at_trx_commit: 1,
    ...(settings.directIo ? { innodb_flush_method: 'O_DIRECT' } : {}),
    innodb_autoinc_lock_mode: 2,
    innodb_buffer_pool_size: `${settings.bufferPool}M`,
    innodb_lock_wait_timeout: 10,
    max_connections: 300,
    max_allowed_packet: '64M',
    performance_schema: 0,
    ...FLAVOR_OPTIONS[settings.flavor],
  };
  const lines = Object.entries(options).map(([name, value]) => `${name}=${quoted(value)}`);
  return `[mysqld]\nskip-log-bin\n${lines.join('\n')}\n`;
}

const FLAVOR_OPTIONS: Record<MysqlSettings['flavor'], Record<string, string | number>> = {
  mariadb: { innodb_log_file_size: '512M', log_warnings: 1 },
  // The packaged default of secure-file-priv is a directory that may not exist. X Plugin would open a port.
  mysql: { innodb_redo_log_capacity: '512M', mysqlx: 0, 'secure-file-priv': 'NULL' },
};

/**
 * The accounts of the embedded server: one user for this service with all privileges (tests create their own databases), and no
 * user without a password. The SQL can be run repeatedly. It has one statement per line, as init-file requires.
 * @param password Letters and digits only.
 */
function renderMysqlAccounts(flavor: MysqlSettings['flavor'], password: string): string {
  const user = `'ledgerbell'@'localhost'`;
  return [
    'CREATE DATABASE IF NOT EXISTS ledgerbell CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;',
    `CREATE USER IF NOT EXISTS ${user} IDENTIFIED BY '${password}';`,
    `ALTER USER ${user} IDENTIFIED BY '${password}';`,
    `GRANT ALL PRIVILEGES ON *.* TO ${user} WITH GRANT OPTION;`,
    flavor === 'mariadb'
      ? "DELETE FROM mysql.global_priv WHERE User IN ('', 'root');"
      : "DROP USER IF EXISTS 'root'@'localhost';",
    'FLUSH PRIVILEGES;',
    '',
  ].join('\n');
}

/** Quotes a value for an option file. A backslash inside the quotes is an escape. */
function quoted(value: string | number): string {
  return typeof value === 'number' ? String(value) : `"${value.replaceAll('\\', '\\\\')}"`;
}
