export interface MysqlSettings {
  flavor: 'mariadb' | 'mysql';
  dataDirectory: string;
  /** Not shared: in a directory such as /tmp, each server that starts deletes the temporary tables of all others. */
  temporaryDirectory: string;
  socket: string;
  /** SQL run at each start before the first connection is accepted. */
  initFile: string;
  /** Both servers refuse to run as root unless they are configured to. */
  asRoot: boolean;
  /** Whether the filesystem of `dataDirectory` supports O_DIRECT. */
  directIo: boolean;
  /** Megabytes of data and indexes that it keeps in memory. */
  bufferPool: number;
}

/**
 * A quarter of the memory, from 128 MB to 8,192 MB. If the indexes do not fit, each movement with an id unlike the one before
 * it causes one page to be read from disk and another to be written. The server allocates the memory only as it fills it.
 * @param memory megabytes of memory that are available.
 */
export const bufferPoolFor = (memory: number): number =>
  Math.min(8_192, Math.max(128, Math.floor(memory / 4)));

/** The complete option file of the embedded server. It reads no other file, so nothing in /etc affects it. */
export function renderMysqlConfig(settings: MysqlSettings): string {
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
 * The accounts of the embedded server: one user for this service with all privileges (tests create databases of their own),
 * and none without a password. The SQL can be run repeatedly. It has one statement per line, as init-file requires.
 * @param password Letters and digits only.
 */
export function renderMysqlAccounts(flavor: MysqlSettings['flavor'], password: string): string {
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

/** In an option file, a value may be in quotes. A backslash inside them is an escape. */
function quoted(value: string | number): string {
  return typeof value === 'number' ? String(value) : `"${value.replaceAll('\\', '\\\\')}"`;
}
