/** A server that the suite can run on, and its Debian packages. */
export interface ServerPackage {
  /** Which of the product's two servers it replaces. */
  role: 'mysql' | 'redis';
  product: 'MySQL' | 'MariaDB' | 'Redis' | 'Valkey';
  /** The beginning of its version. */
  version: string;
  suite: string;
  packages: readonly string[];
  /** Debian's programs that `src/servers/` looks for in PATH. */
  programs: readonly string[];
  /** Programs that those programs start. */
  helpers?: readonly string[];
  /** Last options of `programs`, which are not in the directory that they were compiled for. */
  options?: (home: string) => readonly string[];
}

const databaseOptions = (home: string) => [`--basedir=${home}`, `--plugin-dir=${home}/lib/mysql/plugin`];

export const SERVERS = {
  'mysql-9': {
    role: 'mysql',
    product: 'MySQL',
    version: '9.',
    suite: 'sid',
    packages: ['mysql-server-core'],
    programs: ['mysqld'],
    options: databaseOptions,
  },
  'mariadb-11.8': {
    role: 'mysql',
    product: 'MariaDB',
    version: '11.8.',
    suite: 'trixie',
    packages: ['mariadb-server-core', 'mariadb-client-core'],
    programs: ['mariadbd', 'mariadb-install-db'],
    helpers: ['my_print_defaults', 'resolveip'],
    options: databaseOptions,
  },
  'redis-8': {
    role: 'redis',
    product: 'Redis',
    version: '8.',
    suite: 'trixie',
    packages: ['redis-server'],
    programs: ['redis-server'],
  },
  'valkey-9': {
    role: 'redis',
    product: 'Valkey',
    version: '9.',
    suite: 'sid',
    packages: ['valkey-server'],
    programs: ['valkey-server'],
  },
} as const satisfies Record<string, ServerPackage>;

export type ServerName = keyof typeof SERVERS;

export const isServerName = (name: string): name is ServerName => Object.hasOwn(SERVERS, name);
