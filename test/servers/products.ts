import type { ServerPackage } from './catalog.ts';
import { ask, tell } from './embedded/clients.ts';

/**
 * Names the servers at these addresses, such as "MySQL 9.7.4 and Redis 7.0.15".
 * @throws {Error} with one line when one of them is not the wanted server.
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

/** @param version the result of `SELECT VERSION()`, such as "9.7.4-2" and "10.11.18-MariaDB-0+deb12u1". */
export function nameDatabase(version: string): string {
  const number = /^[\d.]+/.exec(version)?.[0] ?? version;
  return `${version.includes('MariaDB') ? 'MariaDB' : 'MySQL'} ${number}`;
}

/** @param info the answer to `INFO server`. Valkey's also has the version of Redis that it is compatible with. */
export function nameRedis(info: string): string {
  const valueIn = (field: string) => new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const valkey = valueIn('valkey_version');
  return valkey === undefined ? `Redis ${valueIn('redis_version')}` : `Valkey ${valkey}`;
}
