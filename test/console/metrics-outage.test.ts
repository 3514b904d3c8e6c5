import { expect, it } from 'vitest';
import { scrape } from '../support/exposition.ts';
import { useOwnService } from '../support/service.ts';

const service = useOwnService({ because: 'metrics count what all customers have', roles: ['api'] });

/** Samples that come from Redis, from MySQL, and from the process itself. */
const FROM_REDIS = [
  'ledgerbell_queue_jobs{queue="imports",state="waiting"}',
  'ledgerbell_queue_workers{queue="imports"}',
];
const FROM_MYSQL = [
  'ledgerbell_oldest_pending_seconds',
  'ledgerbell_webhooks{status="active"}',
  'ledgerbell_oldest_import_seconds',
];
const OWN = ['ledgerbell_attempts_total{outcome="failed"}', 'nodejs_eventloop_lag_p99_seconds'];

it('/metrics answers without Redis and MySQL, says so, and leaves out what depends on them', async () => {
  const present = async (names: readonly string[]) => {
    const { samples } = await scrape(service);
    const up = (name: string) => samples.get(`ledgerbell_dependency_up{dependency="${name}"}`);
    return { there: names.filter((name) => samples.has(name)), mysql: up('mysql'), redis: up('redis') };
  };
  const all = [...FROM_REDIS, ...FROM_MYSQL, ...OWN];
  expect(await present(all)).toEqual({ there: all, mysql: 1, redis: 1 });

  const { redis, database, prefix } = service.runtime;
  await redis.del(await redis.keys(`${prefix}:metrics:*`));
  redis.disconnect();
  const { mysql, redis: answer } = await present([]);
  expect([mysql, answer]).toEqual([1, 0]);

  await database.destroy();
  expect(await present([])).toMatchObject({ mysql: 0, redis: 0 });
  expect((await present(OWN)).there).toEqual(OWN);
});
