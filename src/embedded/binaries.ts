import { runCommand } from './command.ts';

export type MysqlBinaries =
  | { flavor: 'mariadb'; server: string; installer: string }
  | { flavor: 'mysql'; server: string };

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
