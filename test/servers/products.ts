import { ask, tell } from '../embedded/clients.ts';
import type { ServerPackage } from './catalog.ts';

/**
 * What answers at these addresses, such as "MySQL 9.7.4 and Redis 7.0.15".
 * @throws {Error} of one line when one of them is not what was wanted.
 */
export async function checkProducts(
  { databaseUrl, redisUrl }: { databaseUrl: string; redisUrl: string },
  wanted: readonly Pick<ServerPackage, 'role' | 'product' | 'version'>[],
): Promise<string> {
  const [row] = await ask(databaseUrl, 'SELECT VERSION() AS version');
  const products = {
    mysql: nameDatabase(String(row?.version)),
    redis: nameRedis(String(await tell(redisUrl, 'INFO', 'server'))),
  };
  for (const { role, product, version } of wanted) {
    if (!products[role].startsWith(`${product} ${version}`)) {
      throw new Error(`${product} ${version} was wanted, and ${products[role]} answers.`);
    }
  }
  return `${products.mysql} and ${products.redis}`;
}

/** @param version of `SELECT VERSION()`, such as "9.7.4-2" and "10.11.18-MariaDB-0+deb12u1". */
export function nameDatabase(version: string): string {
  const number = /^[\d.]+/.exec(version)?.[0] ?? version;
  return `${version.includes('MariaDB') ? 'MariaDB' : 'MySQL'} ${number}`;
}

/** @param info of `INFO server`. Valkey says in it which Redis it stands for, too. */
export function nameRedis(info: string): string {
  const valueIn = (field: string) => new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const valkey = valueIn('valkey_version');
  return valkey === undefined ? `Redis ${valueIn('redis_version')}` : `Valkey ${valkey}`;
}
