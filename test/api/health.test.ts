import { expect, it } from 'vitest';
import { VERSION } from '../../src/platform/version.ts';
import { useService } from '../support/service.ts';

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
    const { status, body } = await service.call('GET', '/readyz');
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
  expect((await service.call('GET', '/readyz')).status).toBe(200);
});
