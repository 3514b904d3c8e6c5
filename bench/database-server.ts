import { readdir, readFile, readlink } from 'node:fs/promises';
import { createDataSource } from '../src/database/data-source.ts';

/** The name and version of a database server, from the result of SELECT VERSION(): 'MariaDB 10.11.14', 'MySQL 9.7.0'. */
export function nameServer(version: string): string {
  const number = /^\d+(?:\.\d+)*/.exec(version)?.[0] ?? version;
  return `${version.includes('MariaDB') ? 'MariaDB' : 'MySQL'} ${number}`;
}

/**
 * Creates an empty database on a given server. Benchmarks empty tables, so they never use an existing database.
 * @param url of any database on the server. Its user must be allowed to create databases.
 */
export async function createDatabase(url: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `ledgerbell_bench_${process.pid}_${Math.floor(Math.random() * 1e6)}`;
  await query(url, `CREATE DATABASE ${name}`);
  const announce = () => console.error(`The database ${name} is left behind: DROP DATABASE ${name}`);
  process.once('exit', announce);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return {
    url: own.href,
    async drop() {
      await query(url, `DROP DATABASE ${name}`);
      process.off('exit', announce);
    },
  };
}

async function query(url: string, statement: string): Promise<void> {
  const database = createDataSource(url, { poolSize: 1 });
  await database.initialize();
  try {
    await database.query(statement);
  } finally {
    await database.destroy();
  }
}

/** The state of a listening socket in /proc/net/tcp. */
const LISTENING = '0A';

/**
 * The process id of the server that listens on the URL's port on this machine, from Linux's /proc.
 * @returns null for a server on another machine, or one of another user.
 */
export async function findServerPid(url: string): Promise<number | null> {
  const { hostname, port, searchParams } = new URL(url);
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(hostname) || searchParams.has('socketPath')) return null;
  const inodes = new Set<string>();
  for (const table of ['tcp', 'tcp6']) {
    const text = await readFile(`/proc/net/${table}`, 'utf8').catch(() => '');
    for (const line of text.split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      const listensAt = Number.parseInt(local.split(':')[1] ?? '', 16);
      if (state === LISTENING && listensAt === Number(port || 3306)) inodes.add(`socket:[${inode}]`);
    }
  }
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    for (const file of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      if (inodes.has(await readlink(`/proc/${pid}/fd/${file}`).catch(() => ''))) return Number(pid);
    }
  }
  return null;
}
