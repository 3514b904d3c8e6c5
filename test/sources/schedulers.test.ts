import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { prefixOf, QUEUES } from '../../src/platform/queues.ts';
import { claimSource } from '../../src/sources/runs/source-lease.ts';
import { reconcileSources } from '../../src/sources/source-jobs.ts';
import { mt940 } from '../intake/statement-files.ts';
import { until } from '../support/until.ts';
import { createFolderCustomer, useFolderService } from './folder-source.ts';

const { service, sourcesDir } = useFolderService();

/** As after the time until its next run. */
async function makeDue(id: string): Promise<void> {
  await service.runtime.database.query('UPDATE sources SET next_run_at = NOW(6) WHERE id = ?', [id]);
  await reconcileSources(service.runtime);
}

const schedulersOf = async (id: string) =>
  (await service.runtime.queues.sources.getJobSchedulers()).filter(({ key }) => key === `source-${id}`);

describe('a source’s job scheduler', () => {
  it('exists while the source is active, and follows its schedule', async () => {
    const customer = await createFolderCustomer(service, sourcesDir);
    const id = await customer.createSource({ schedule: { every: '15m' } });
    const [made] = await schedulersOf(id);
    expect(made).toMatchObject({ every: 900_000 });
    const { next_run_at } = await until('the first run', async () => {
      const source = await customer.source(id);
      return source.last_run_at !== null && !source.is_running && source;
    });
    // MySQL and the scheduler agree about the next run.
    expect(made?.next).toBe(Date.parse(next_run_at));
    const cron = { cron: '30 6 * * *', time_zone: 'Europe/Istanbul' };
    const { body } = await customer.call('PATCH', `/v1/sources/${id}`, { schedule: cron });
    expect(body.source.next_run_at).toMatch(/T03:30:00\.000Z$/);
    const [changed] = await schedulersOf(id);
    expect(changed).toMatchObject({ pattern: '30 6 * * *', tz: 'Europe/Istanbul' });
    expect(changed?.next).toBe(Date.parse(body.source.next_run_at));
    await customer.call('PATCH', `/v1/sources/${id}`, { status: 'paused' });
    expect(await schedulersOf(id)).toEqual([]);
    await customer.call('PATCH', `/v1/sources/${id}`, { status: 'active' });
    expect(await schedulersOf(id)).toHaveLength(1);
    await customer.call('DELETE', `/v1/sources/${id}`);
    expect(await schedulersOf(id)).toEqual([]);
  });

  it('is added again after Redis has lost it, and the due run still happens', async () => {
    const customer = await createFolderCustomer(service, sourcesDir);
    const id = await customer.createSource({ schedule: { every: '10s' } });
    await until('the first run', async () => (await customer.source(id)).last_run_at !== null);
    const { redis, prefix } = service.runtime;
    const keys = await redis.keys(`${prefixOf(prefix, QUEUES.sources)}:*`);
    await redis.del(...keys);
    expect(await schedulersOf(id)).toEqual([]);
    await customer.drop('march.sta', mt940([{ day: 2, amount: 1 }]));
    await makeDue(id);
    await until('it is scheduled again', async () => (await schedulersOf(id)).length === 1);
    await until('the file is imported', async () => (await customer.movements()).length === 1);
  });

  it('removes itself when the source was paused without Redis', async () => {
    const customer = await createFolderCustomer(service, sourcesDir);
    const id = await customer.createSource({ schedule: { every: '10s' } });
    await until('the first run', async () => (await customer.source(id)).last_run_at !== null);
    await service.runtime.database.query(
      "UPDATE sources SET status = 'paused', next_run_at = NULL WHERE id = ?",
      [id],
    );
    await until('it is gone', async () => (await schedulersOf(id)).length === 0);
  });
});

describe('the reconciler of sources', () => {
  it('queues a source whose requested run was not queued', async () => {
    const customer = await createFolderCustomer(service, sourcesDir);
    const id = await customer.createSource();
    const { database } = service.runtime;
    await database.query('UPDATE sources SET is_requested = 1 WHERE id = ?', [id]);
    expect(await reconcileSources(service.runtime)).toBeGreaterThanOrEqual(1);
    await until('its run', async () => (await customer.runs(id))[0]?.status === 'done');
  });

  it('does not queue a source whose run is in progress, or that is not due', async () => {
    const customer = await createFolderCustomer(service, sourcesDir);
    const [running, waiting] = [
      await customer.createSource(),
      await customer.createSource({ settings: { path: 'other' } }),
    ];
    const { database } = service.runtime;
    await database.query(
      'UPDATE sources SET is_requested = 1, run_id = 1, lease_until = NOW(6) + INTERVAL 15 SECOND WHERE id = ?',
      [running],
    );
    await reconcileSources(service.runtime);
    expect(await customer.runs(running)).toEqual([]);
    expect(await customer.runs(waiting)).toEqual([]);
    await database.query('UPDATE sources SET is_requested = 0, run_id = NULL WHERE id = ?', [running]);
  });

  it('takes over a run whose lease was granted before the database clock was set back', async () => {
    const customer = await createFolderCustomer(service, sourcesDir);
    const id = await customer.createSource();
    await service.runtime.database.query(
      'UPDATE sources SET run_id = 1, lease_until = NOW(6) + INTERVAL 1 HOUR WHERE id = ?',
      [id],
    );
    expect(await reconcileSources(service.runtime)).toBeGreaterThanOrEqual(1);
    await until('another run', async () => (await customer.runs(id))[0]?.status === 'done');
  });
});

it('a source whose time was set before the clock was set back is due, and one with a rare schedule is not', async () => {
  const customer = await createFolderCustomer(service, sourcesDir);
  const [often, rare] = [
    await customer.createSource({ schedule: { every: '15m' } }),
    await customer.createSource({ settings: { path: 'rare' } }),
  ];
  await until('the first run', async () => (await customer.runs(often)).length === 1);
  const rarely = (await customer.source(rare)).next_run_at;
  await service.runtime.database.query(
    'UPDATE sources SET next_run_at = NOW(6) + INTERVAL 2 DAY WHERE id = ?',
    [often],
  );
  await until('another run', async () => {
    await reconcileSources(service.runtime);
    return (await customer.runs(often)).length === 2;
  });
  expect((await customer.source(rare)).next_run_at).toBe(rarely);
});

it('a source follows the time of MySQL, not that of the process', async () => {
  const customer = await createFolderCustomer(service, sourcesDir);
  const id = await customer.createSource({ schedule: { every: '15m' } });
  await until('the first run', async () => (await customer.runs(id))[0]?.status === 'done');
  // The worker can be quicker and claim the due source itself. Then the test makes the source due once more.
  await until('a claim by the test', async () => {
    await service.runtime.database.query('UPDATE sources SET next_run_at = NOW(6) WHERE id = ?', [id]);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 24 * 3_600_000 });
    try {
      return (await claimSource(service.runtime.database, id)).outcome === 'claimed';
    } finally {
      vi.useRealTimers();
    }
  });
  const { next_run_at } = await customer.source(id);
  expect(Date.parse(next_run_at) - Date.now()).toBeLessThanOrEqual(900_000);
});

it('a failing source backs off, and a healthy source beside it is collected on time', async () => {
  const customer = await createFolderCustomer(service, sourcesDir);
  await mkdir(join(customer.root, 'aside'), { recursive: true });
  await symlink('/tmp', join(customer.root, 'broken'));
  const failing = await customer.createSource({ settings: { path: 'broken' }, schedule: { every: '10s' } });
  const healthy = await customer.createSource({ schedule: { every: '10s' } });
  const broken = await until('a failed run', async () => {
    const source = await customer.source(failing);
    return source.consecutive_failures > 0 && source;
  });
  expect(broken).toMatchObject({ error: expect.stringMatching(/^The folder broken has a symbolic link/) });
  // The wait is longer than the schedule of 10 s.
  expect(Date.parse(broken.next_run_at) - Date.parse(broken.last_run_at)).toBeGreaterThan(45_000);
  for (const day of [2, 3]) {
    await customer.drop(`${day}.sta`, mt940([{ day, amount: day, reference: `B${day}` }]));
    await makeDue(healthy);
    await until('it is imported', async () => (await customer.movements()).length === day - 1);
  }
  expect(await customer.runs(failing)).toHaveLength(1);
  expect((await customer.runs(healthy)).length).toBeGreaterThan(1);
  // A run that is asked for does not wait.
  await rm(join(customer.root, 'broken'));
  expect(await customer.run(failing)).toMatchObject({ status: 'done' });
  expect(await customer.source(failing)).toMatchObject({ consecutive_failures: 0, error: null });
});
