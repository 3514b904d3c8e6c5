import { beforeAll, describe, expect, it } from 'vitest';
import { CRASHED } from '../../src/delivery/webhook-state.ts';
import { readVerdict } from '../../src/verdict/verdict.ts';
import { watchWebhooks } from '../../src/verdict/watch-webhooks.ts';
import { nameWebhookTroubles } from '../../src/verdict/webhooks.ts';
import { useOwnService } from '../support/service.ts';
import { createSubscriber, NOWHERE, type Subscriber, setCursor } from '../support/subscriber.ts';

// Nothing is sent, because no process has the role delivery.
const service = useOwnService({ because: 'the verdict is about all customers', roles: ['api'] });
const SERVERS = { mysql: 'ok', redis: 'ok', hostProblems: [] };

const query = (sql: string, values: unknown[]) => service.runtime.database.query(sql, values);
const readPage = async (path: string) =>
  String((await service.callOps('GET', path, { headers: { Accept: 'text/html' } })).body)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
const troublesOf = async (webhookId: string) =>
  (await readVerdict(service.runtime.database, SERVERS)).troubles.filter(
    ({ subject }) => subject?.type === 'webhook' && subject.id === webhookId,
  );
const standingOf = async ({ key }: Subscriber, id: string) =>
  (await service.call('GET', `/v1/webhooks/${id}`, { key })).body.webhook.standing;
const eventsOf = async (webhookId: string): Promise<string[]> =>
  (await query('SELECT type FROM operational_events WHERE webhook_id = ? ORDER BY id', [webhookId])).map(
    ({ type }: { type: string }) => type,
  );

describe('a webhook whose endpoint answers, with an old backlog', () => {
  let subscriber: Subscriber;
  let id: string;
  const age = (minutes: number) =>
    query('UPDATE transactions SET date_readed = NOW(6) - INTERVAL ? MINUTE WHERE customer_id = ?', [
      minutes,
      subscriber.customerId,
    ]);

  beforeAll(async () => {
    subscriber = await createSubscriber(service, NOWHERE, { max_in_flight: 4 });
    id = subscriber.webhookIds[0] ?? '';
    await subscriber.store(3);
    await setCursor(service, id, 'recovery_successes = NULL');
  });

  it('is not behind as long as its oldest movement is young', async () => {
    await age(0);
    expect(await troublesOf(id)).toEqual([]);
    await watchWebhooks(service.runtime.database);
    expect(await eventsOf(id)).toEqual([]);
  });

  it('is behind in the verdict, in the API and on its page, with what holds it', async () => {
    await age(10);
    await setCursor(service, id, 'lease_until = NOW(6) + INTERVAL 10 SECOND');
    const [trouble, ...others] = await troublesOf(id);
    expect(others).toEqual([]);
    expect(trouble).toMatchObject({
      kind: 'webhook_behind',
      scope: 'endpoint',
      pending: 3,
      help: 'Its max_in_flight holds it: up to 4 at a time. Raise the limit, if its endpoint can take more.',
    });
    expect(trouble?.sentence).toMatch(
      /is behind\. Its endpoint answers, but its oldest pending delivery has been waiting for 10 min, 3 deliveries pending\.$/,
    );
    expect(await standingOf(subscriber, id)).toMatchObject([
      { kind: 'behind', limit: 'max_in_flight', since: expect.any(String), in_per_minute: null },
    ]);
    for (const path of ['/ops', '/ops/webhooks', `/ops/webhooks/${id}`])
      expect(await readPage(path), path).toContain('Its max_in_flight holds it');
  });

  it('is a trouble of the installation while it waits for a delivery process', async () => {
    await setCursor(service, id, 'lease_until = NULL, progressed_at = NOW(6)');
    // Between two runs.
    expect(await troublesOf(id)).toMatchObject([{ kind: 'webhook_behind', scope: 'endpoint' }]);
    await setCursor(service, id, 'progressed_at = NOW(6) - INTERVAL 1 MINUTE');
    expect(await troublesOf(id)).toMatchObject([
      { kind: 'webhook_behind', scope: 'installation', help: expect.stringContaining('delivery processes') },
    ]);
  });

  it('waits for the retry of an event, if it is ordered, and not for a delivery process', async () => {
    await query('UPDATE webhooks SET ordered = 1 WHERE id = ?', [id]);
    await query(
      `INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
       VALUES (?, 1, ?, NOW(6) + INTERVAL 10 MINUTE, 1, 1)`,
      [id, subscriber.customerId],
    );
    expect(await troublesOf(id)).toMatchObject([
      {
        ...{ kind: 'webhook_behind', scope: 'endpoint' },
        help: expect.stringMatching(
          /ordered, and one of its deliveries has failed.*next attempt is in (9|10) min/,
        ),
      },
    ]);
    expect(await standingOf(subscriber, id)).toMatchObject([{ kind: 'behind', limit: 'retry' }]);
    await query('DELETE FROM retries WHERE webhook_id = ?', [id]);
    await query('UPDATE webhooks SET ordered = 0 WHERE id = ?', [id]);
  });

  it('is told to its customer once, with its pace, and again when it has caught up', async () => {
    const { database } = service.runtime;
    for (let looks = 0; looks < 3; looks += 1) await watchWebhooks(database);
    expect(await eventsOf(id)).toEqual(['webhook.behind']);
    await query(
      'UPDATE webhook_standings SET next_at = next_at - INTERVAL 1 MINUTE, next_finished = next_finished - 2, next_matched = next_matched - 1 WHERE webhook_id = ?',
      [id],
    );
    const [standing] = await standingOf(subscriber, id);
    expect(standing).toMatchObject({ in_per_minute: 1, out_per_minute: 2 });
    const seconds = (Date.parse(standing.caught_up_at) - Date.now()) / 1_000;
    expect(seconds).toBeGreaterThan(150);
    expect(seconds).toBeLessThan(210);

    await age(0);
    await watchWebhooks(database);
    expect(await eventsOf(id)).toEqual(['webhook.behind', 'webhook.caught_up']);
    expect(await standingOf(subscriber, id)).toEqual([]);
  });
});

describe('a webhook that the service has paused', () => {
  it('is a trouble of the installation if its runs end processes, and otherwise of its endpoint', async () => {
    const { webhookIds } = await createSubscriber(service, NOWHERE, {});
    const id = webhookIds[0] ?? '';
    const quarantined = async (reason: string) => {
      await query("UPDATE webhooks SET status = 'paused', status_reason = ? WHERE id = ?", [reason, id]);
      return (await troublesOf(id)).map(({ kind, scope }) => `${kind} ${scope}`);
    };
    expect(await quarantined(`${CRASHED}. Its deliveries are kept.`)).toEqual([
      'webhook_quarantined installation',
    ]);
    expect(await quarantined('MySQL refuses the results of its deliveries (ER_X).')).toEqual([
      'webhook_quarantined endpoint',
    ]);
    await query("UPDATE webhooks SET status = 'active', status_reason = NULL WHERE id = ?", [id]);
  });
});

describe('a webhook whose endpoint fails', () => {
  it('flaps after its third recovery, until an hour later', async () => {
    const { database } = service.runtime;
    const subscriber = await createSubscriber(service, NOWHERE, {});
    const id = subscriber.webhookIds[0] ?? '';
    for (let times = 0; times < 3; times += 1) {
      await setCursor(service, id, 'failing_since = NOW(6), consecutive_failures = 3');
      expect((await troublesOf(id)).map(({ kind }) => kind)).toEqual(['webhook_failing']);
      await watchWebhooks(database);
      await setCursor(service, id, 'failing_since = NULL, consecutive_failures = 0');
      await watchWebhooks(database);
    }
    expect((await troublesOf(id)).map(({ kind }) => kind)).toEqual(['webhook_flapping']);
    await setCursor(service, id, 'failing_since = NOW(6), consecutive_failures = 1');
    expect((await troublesOf(id)).map(({ kind }) => kind)).toEqual(['webhook_flapping']);
    expect(await standingOf(subscriber, id)).toMatchObject([{ kind: 'flapping' }]);
    // What fails for long does not flap any more.
    await setCursor(service, id, 'failing_since = NOW(6) - INTERVAL 11 MINUTE');
    expect((await troublesOf(id)).map(({ kind }) => kind)).toEqual(['webhook_failing']);
    await setCursor(service, id, 'failing_since = NULL');
    await watchWebhooks(database);
    await query(
      'UPDATE webhook_standings SET changed_at = changed_at - INTERVAL 61 MINUTE WHERE webhook_id = ?',
      [id],
    );
    expect(await troublesOf(id)).toEqual([]);
    await watchWebhooks(database);
    expect(await eventsOf(id)).toEqual(['webhook.flapping', 'webhook.stable']);
  });

  it('says when something is sent again, whatever holds it back', async () => {
    const subscriber = await createSubscriber(service, NOWHERE, {});
    const id = subscriber.webhookIds[0] ?? '';
    const ids = await subscriber.store(1);
    await setCursor(
      service,
      id,
      `failing_since = NOW(6) - INTERVAL 1 MINUTE, consecutive_failures = 7, last_error = 'answered 500', circuit_openings = 1,
       circuit_open_until = NOW(6) + INTERVAL 14 SECOND, sent_through = ${ids[0]}, highest_recorded_id = ${ids[0]}`,
    );
    await query(
      `INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
       VALUES (?, ?, ?, NOW(6) + INTERVAL 125 SECOND, 6, 6)`,
      [id, ids[0], subscriber.customerId],
    );
    const [trouble] = await troublesOf(id);
    expect(trouble?.sentence).toMatch(
      /has been failing for 1 min( \d s)?, 7 times in a row, 1 delivery pending\. The next attempt is in 2 min( \d s)?\. Last error: answered 500\.$/,
    );
    expect(await readPage(`/ops/webhooks/${id}`)).toMatch(/circuit open next attempt in 2 min/);
    // The circuit is half-open, and the delivery is still not due.
    await setCursor(service, id, 'circuit_open_until = NOW(6) - INTERVAL 1 SECOND');
    expect(await readPage(`/ops/webhooks/${id}`)).toMatch(/failing next attempt in 2 min/);
  });

  it('is named among the first of its kind, and counted among the others', async () => {
    const { database } = service.runtime;
    const many = await createSubscriber(service, NOWHERE, ...Array.from({ length: 12 }, () => ({})));
    await query('UPDATE webhook_cursors SET failing_since = NOW(6) WHERE customer_id = ?', [many.customerId]);
    const { troubles } = await readVerdict(database, SERVERS);
    const failing = troubles.filter(({ kind }) => kind === 'webhook_failing');
    const [{ all = '0' } = {}] = await query(
      'SELECT COUNT(*) AS `all` FROM webhook_cursors WHERE failing_since IS NOT NULL',
      [],
    );
    expect(failing.filter(({ subject }) => subject !== null)).toHaveLength(10);
    expect(failing.reduce((sum, { count }) => sum + count, 0)).toBe(Number(all));
    expect(failing.at(-1)?.sentence).toBe(`Beside these, ${Number(all) - 10} endpoints are failing.`);
    expect((await nameWebhookTroubles(database, 3)).troubles).toHaveLength(3);
  });
});
