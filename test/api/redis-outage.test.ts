import { describe, expect, it } from 'vitest';
import { queueImports } from '../../src/platform/queues.ts';
import { createAccount, largeImport, movement } from '../support/movements.ts';
import { useOwnService } from '../support/service.ts';

const service = useOwnService({ because: 'it ends the connection to Redis', roles: ['api'] });

describe('while Redis is unreachable', () => {
  it('imports are accepted and kept, everything else answers, and /readyz and /ops report it', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await createAccount(service, key);
    const { redis, queues, database } = service.runtime;
    redis.disconnect();
    await expect(queueImports(queues, ['1'])).rejects.toThrow();

    const small = await service.call('POST', '/v1/imports', { key, body: { transactions: [movement(id)] } });
    expect([small.status, small.body.import.status]).toEqual([202, 'done']);
    const accepted = await service.call('POST', '/v1/imports', { key, body: largeImport(id) });
    expect([accepted.status, accepted.body.import.status]).toEqual([202, 'queued']);
    const rows = await database.query<object[]>(
      `SELECT i.status, IF(OCTET_LENGTH(p.bytes) > 0, 'bytes', 'nothing') AS kept FROM imports i JOIN import_parts p ON p.import_id = i.id
       WHERE i.id = ?`,
      [accepted.body.import.id],
    );
    expect(rows).toEqual([{ status: 'queued', kept: 'bytes' }]);

    const ready = await service.call('GET', '/readyz');
    expect([ready.status, ready.body]).toEqual([
      503,
      { status: 'not ready', mysql: 'ok', redis: 'not available', migrations: 'ok' },
    ]);
    expect(ready.headers.get('retry-after')).toMatch(/^\d+$/);
    expect((await service.call('GET', '/healthz')).status).toBe(200);
    for (const path of ['/v1/transactions?starts=2026-01-01', '/v1/webhooks', '/v1/imports']) {
      expect((await service.call('GET', path, { key })).status).toBe(200);
    }
    const console = await service.callOps('GET', '/ops');
    expect(console.status).toBe(200);
    expect(console.body).toContain('Redis cannot be reached.');
    // MySQL is asked as before.
    expect(console.body).toContain('Imports are still accepted.');
    expect(console.body).not.toContain('MySQL cannot be reached');
  });
});
