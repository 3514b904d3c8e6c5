import { expect, it } from 'vitest';
import { VERSION } from '../../src/platform/config.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useService({ roles: ['api'] });

it('/healthz tells without a key that the process is alive, and its version', async () => {
  const { status, body } = await service.call('GET', '/healthz');
  expect([status, body]).toEqual([200, { status: 'ok', version: VERSION }]);
});

it('/readyz tells without a key that MySQL, Redis and the schema are ready', async () => {
  const { status, body } = await service.call('GET', '/readyz');
  expect([status, body]).toEqual([200, { status: 'ready', mysql: 'ok', redis: 'ok', migrations: 'ok' }]);
});

it('/readyz is not ready while a migration has not run', async () => {
  const { database } = service.runtime;
  const [migration] = await database.query<{ id: number; timestamp: string; name: string }[]>(
    'SELECT * FROM migrations ORDER BY id DESC LIMIT 1',
  );
  await database.query('DELETE FROM migrations WHERE id = ?', [migration?.id]);
  try {
    // An answer is kept for a second.
    const { status, body } = await until('another answer', async () => {
      const answer = await service.call('GET', '/readyz');
      return answer.status !== 200 && answer;
    });
    expect([status, body]).toEqual([
      503,
      { status: 'not ready', mysql: 'ok', redis: 'ok', migrations: 'not available' },
    ]);
  } finally {
    await database.query('INSERT INTO migrations (id, timestamp, name) VALUES (?, ?, ?)', [
      migration?.id,
      migration?.timestamp,
      migration?.name,
    ]);
  }
  await until('it is ready', async () => (await service.call('GET', '/readyz')).status === 200);
});

it('/readyz costs MySQL a few statements per second, however many ask', async () => {
  const { database } = service.runtime;
  const { query } = database;
  let statements = 0;
  database.query = (...statement: Parameters<typeof query>) => {
    statements += 1;
    return query.apply(database, statement) as never;
  };
  try {
    const begun = performance.now();
    // Longer than an answer is kept.
    while (performance.now() - begun < 1_500)
      await Promise.all(Array.from({ length: 20 }, () => service.call('GET', '/readyz')));
    const seconds = (performance.now() - begun) / 1_000;
    expect(statements).toBeGreaterThan(0);
    expect(statements).toBeLessThanOrEqual(3 * (seconds + 2));
  } finally {
    database.query = query;
  }
});
