import { runCommand } from './command.ts';

export type MysqlBinaries =
  | { flavor: 'mariadb'; server: string; installer: string }
  | { flavor: 'mysql'; server: string };

/** Servers are often kept out of a user's PATH. */
const SERVER_DIRECTORIES = '/usr/sbin:/usr/local/sbin:/usr/libexec';

/** redis-server, or its open-source twin, as an absolute path; null when the machine has neither. */
export function findRedis(path?: string): Promise<string | null> {
  return findFirst(['redis-server', 'valkey-server'], path);
}

/** MariaDB before MySQL; a MariaDB without the program that makes its first data directory counts as missing. */
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

/**
 * The first of `names` that can be run. The shell looks it up in the PATH it inherits.
 * @param path Looked up instead, and nowhere else.
 */
export async function findFirst(names: readonly string[], path?: string): Promise<string | null> {
  const more = path === undefined ? `:${SERVER_DIRECTORIES}` : '';
  const script = `PATH="$PATH${more}"; for name; do command -v "$name" && exit; done; exit 1`;
  const { ok, stdout } = await runCommand('/bin/sh', ['-c', script, 'sh', ...names], { path });
  return ok ? stdout.trim() : null;
}
