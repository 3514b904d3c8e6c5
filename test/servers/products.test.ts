import { expect, inject, test } from 'vitest';
import { checkProducts, nameDatabase, nameRedis } from './products.ts';

test.each([
  ['9.7.4-2', 'MySQL 9.7.4'],
  ['8.4.6', 'MySQL 8.4.6'],
  ['10.11.18-MariaDB-0+deb12u1', 'MariaDB 10.11.18'],
  ['11.8.6-MariaDB-0+deb13u1 from Debian', 'MariaDB 11.8.6'],
])('the version %s is named %s', (version, name) => {
  expect(nameDatabase(version)).toBe(name);
});

test('Valkey is named Valkey, although it reports a Redis version', () => {
  expect(nameRedis('# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\n')).toBe(
    'Valkey 9.1.2',
  );
  expect(nameRedis('# Server\r\nredis_version:8.0.2\r\nredis_mode:standalone\r\n')).toBe('Redis 8.0.2');
});

test('a server other than the wanted server is an error that names both servers', async () => {
  const urls = { databaseUrl: inject('databaseUrl'), redisUrl: inject('redisUrl') };
  expect(await checkProducts(urls, [])).toMatch(/^(MySQL|MariaDB) [\d.]+ and (Redis|Valkey) [\d.]+$/);
  await expect(checkProducts(urls, [{ role: 'mysql', product: 'MySQL', version: '99.' }])).rejects.toThrow(
    /^MySQL 99\. was wanted, and (MySQL|MariaDB) [\d.]+ answers\.$/,
  );
});
