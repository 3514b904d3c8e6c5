import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { createSigner, movementHash } from '../../src/delivery/posting/signature.ts';
import { reconcileDeliveries } from '../../src/delivery/reconcile.ts';
import { rebuildRequest } from '../../src/delivery/requests.ts';
import { addDeliveryJobs } from '../../src/platform/queues.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { type Received, useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { attemptsOf, deliveriesOf, subscribe, useDeliveryWorkers } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer'] });
const receiver = useReceiver();
const workers = useDeliveryWorkers(service);
beforeAll(() => void workers.start({ delays: [20, 20, 20, 20] }));

interface Batch {
  batch: string;
  events: { id: string; body: { unique?: string; description: string; hash: string } }[];
}
const batchOf = ({ body }: Received): Batch => JSON.parse(body);

/** A customer with a webhook that is sent batches. */
async function createBatched(path: string, batch: object, fields: object = {}) {
  const { api_key: key, api_secret: apiSecret } = await service.customer();
  const { id: accountId } = await createAccount(service, key);
  const { id, secret } = await subscribe(service, key, receiver.url + path, { batch, ...fields });
  const change = (body: object) => service.call('PATCH', `/v1/webhooks/${id}`, { key, body });
  return {
    ...{ id, key, secret, apiSecret, change },
    store: (count: number, from = 0) =>
      importMovements(
        service,
        key,
        Array.from({ length: count }, (_, i) =>
          movement(accountId, { unique_id: `${path} ${from + i}`, description: `n${from + i}` }),
        ),
      ),
    batches: () => receiver.at(path).map(batchOf),
    /** The number of each event, by POST. */
    numbers: () =>
      receiver.at(path).map((it) => batchOf(it).events.map(({ body }) => Number(body.description.slice(1)))),
    delivered: (count: number) =>
      until(`${count} delivered`, async () => {
        const rows = await deliveriesOf(service, id);
        return rows.filter(({ status }) => status === 'delivered').length === count;
      }),
  };
}

/**
 * A webhook with batches whose endpoint has accepted one event, number 0. The first failure of a new endpoint would hold up the next POST
 * for five seconds.
 */
async function createProven(path: string) {
  const webhook = await createBatched(path, { max: 5 });
  await webhook.store(1);
  await webhook.delivered(1);
  return webhook;
}

/** Answers a batch by what the function says of its numbers. */
const answering =
  (answer: (numbers: number[], response: ServerResponse, ids: string[]) => void) =>
  (received: Received, response: ServerResponse) => {
    const { events } = batchOf(received);
    answer(
      events.map(({ body }) => Number(body.description.slice(1))),
      response,
      events.map(({ id }) => id),
    );
  };

const firstOf = async (webhookId: string): Promise<string> =>
  (await deliveriesOf(service, webhookId))
    .map(({ transaction_id }) => String(transaction_id))
    .reduce((least, id) => (BigInt(id) < BigInt(least) ? id : least));

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe('a webhook with batches', () => {
  it('is sent a backlog in full batches, each signed as a whole, with the hash of each event', async () => {
    const webhook = await createBatched('/full', { max: 40 });
    await webhook.change({ status: 'paused' });
    await webhook.store(100);
    await webhook.change({ status: 'active' });
    await webhook.delivered(100);
    expect(
      webhook
        .numbers()
        .map(({ length }) => length)
        .toSorted(),
    ).toEqual([20, 40, 40]);
    expect(
      webhook
        .numbers()
        .flat()
        .toSorted((a, b) => a - b),
    ).toEqual(range(0, 99));
    const sign = createSigner([webhook.secret]);
    for (const { headers, body } of receiver.at('/full')) {
      const { batch, events } = JSON.parse(body) as Batch;
      expect(headers['webhook-id']).toBe(batch);
      expect(batch).toMatch(new RegExp(`^batch_${webhook.id}-\\d+-\\w+$`));
      expect(headers['webhook-signature']).toBe(sign(batch, Number(headers['webhook-timestamp']), body));
      expect(headers['content-type']).toBe('application/json');
      for (const { id, body: own } of events) {
        expect(id).toMatch(new RegExp(`^msg_${webhook.id}-\\d+$`));
        expect(own.hash).toBe(movementHash(own as never, webhook.apiSecret, 'hex'));
      }
    }
    const rows = await service.runtime.database.query<{ responses: string }[]>(
      'SELECT COUNT(batch_first) AS batched, COUNT(DISTINCT batch_first) AS batches FROM deliveries WHERE webhook_id = ?',
      [webhook.id],
    );
    expect(rows).toEqual([
      {
        batched: expect.toSatisfy((it) => Number(it) === 100),
        batches: expect.toSatisfy((it) => Number(it) === 3),
      },
    ]);
  });

  it('is sent again only what the answer names, and the answer is stored once', async () => {
    const webhook = await createBatched('/named', { max: 10 });
    const seen = new Set<number>();
    receiver.answer(
      '/named',
      answering((numbers, response, ids) => {
        const failed = ids.filter((_, i) => (numbers[i] ?? 0) % 4 === 1 && !seen.has(numbers[i] ?? 0));
        for (const number of numbers) seen.add(number);
        response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ failed }));
      }),
    );
    await webhook.store(10);
    await webhook.delivered(10);
    const times = new Map<number, number>();
    for (const number of webhook.numbers().flat()) times.set(number, (times.get(number) ?? 0) + 1);
    expect(
      [...times]
        .filter(([, count]) => count > 1)
        .map(([number]) => number)
        .toSorted(),
    ).toEqual([1, 5, 9]);
    const attempts = await attemptsOf(service, webhook.id);
    expect(attempts.filter(({ response }) => response !== null).length).toBeLessThanOrEqual(
      webhook.batches().length,
    );
  });

  it('is sent less and less of what it rejects, and one bad event takes no other along', async () => {
    const webhook = await createBatched('/bad', { max: 64 });
    receiver.answer(
      '/bad',
      answering((numbers, response) => {
        response.statusCode = numbers.includes(37) ? 422 : 200;
        response.end();
      }),
    );
    await webhook.change({ status: 'paused' });
    await webhook.store(64);
    await webhook.change({ status: 'active' });
    await webhook.delivered(63);
    const [failed] = await until('the bad one has failed', async () => {
      const rows = (await deliveriesOf(service, webhook.id)).filter(({ status }) => status === 'failed');
      return rows.length === 1 && rows;
    });
    const singles = webhook.numbers().filter((numbers) => numbers.length === 1 && numbers[0] === 37);
    expect(singles).toHaveLength(5);
    expect(failed).toMatchObject({ attempts: 5 });
    for (const row of await deliveriesOf(service, webhook.id))
      if (row.status === 'delivered') expect(row.attempts).toBe(1);
  });

  it('goes on with smaller batches in the next run if a rejection takes as long as a run, and shows what was rejected', async () => {
    const webhook = await createBatched('/slowly', { max: 64 });
    await webhook.change({ status: 'paused' });
    await webhook.store(64);
    const answers = { inFlight: 0 };
    receiver.answer(
      '/slowly',
      answering((numbers, response) => {
        const isBad = numbers.includes(0) && answers.inFlight < 3;
        if (!isBad) return void response.end();
        if (numbers.length === 1) answers.inFlight += 1;
        setTimeout(() => response.writeHead(422).end(`no: ${numbers.length}`), 700);
      }),
    );
    await webhook.change({ status: 'active' });
    await webhook.delivered(64);
    const { status, body } = await service.call(
      'GET',
      `/v1/deliveries/${webhook.id}-${await firstOf(webhook.id)}`,
      {
        key: webhook.key,
      },
    );
    expect(status).toBe(200);
    const { delivery } = body as { delivery: { log: unknown[]; rejected_batches: { events: number }[] } };
    expect(delivery.log).toHaveLength(4);
    expect(delivery.rejected_batches.slice(0, 6)).toEqual(
      [64, 32, 16, 8, 4, 2].map((events) => ({
        ...{
          batch: expect.stringMatching(/^batch_/),
          events,
          status_code: 422,
          started_at: expect.any(String),
        },
        ...{ duration_ms: expect.any(Number), response: `no: ${events}` },
      })),
    );
  });

  describe('sends all again, after', () => {
    const answerWith =
      (headers: OutgoingHttpHeaders, content: string | Buffer) => (response: ServerResponse) =>
        void response.writeHead(200, headers).end(content);
    const json = { 'Content-Type': 'application/json' };
    /** The connection alone says where the body ends. */
    const endWith = (headers: string) => (response: ServerResponse) =>
      void response.socket?.end(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n`);

    it.each<[string, (response: ServerResponse) => void]>([
      ['JSON that ends early', answerWith({}, '{"failed":["msg_')],
      ['the name of an event that it was not sent', answerWith({}, '{"failed":["msg_1-999999999"]}')],
      ['an answer that is too long to be read', answerWith({}, `{"failed":[]}${' '.repeat(70_000)}`)],
      [
        'a gzip that ends early',
        answerWith({ ...json, 'Content-Encoding': 'gzip' }, gzipSync('{"failed":[]}').subarray(0, 10)),
      ],
      ['an empty JSON that only the connection ends', endWith('Content-Type: application/json')],
      [
        'an empty gzip that only the connection ends',
        endWith('Content-Type: text/plain\r\nContent-Encoding: gzip'),
      ],
    ])('%s', async (name, answer) => {
      const path = `/${encodeURIComponent(name)}`;
      const webhook = await createProven(path);
      receiver.answer(path, (_received, response) =>
        receiver.at(path).length === 2 ? answer(response) : void response.end('ok'),
      );
      await webhook.store(3, 1);
      await webhook.delivered(4);
      expect(webhook.numbers().map((numbers) => numbers.toSorted())).toEqual([[0], [1, 2, 3], [1, 2, 3]]);
    });
  });

  it('keeps the first 4 KiB of an answer that is long and no UTF-8', async () => {
    const webhook = await createProven('/long');
    receiver.answer('/long', (_received, response) => {
      const isSecond = receiver.at('/long').length === 2;
      response.writeHead(isSecond ? 500 : 200).end(Buffer.alloc(22_000, 0xff));
    });
    await webhook.store(2, 1);
    await webhook.delivered(3);
    const kept = await service.runtime.database.query<{ bytes: number | string }[]>(
      'SELECT MAX(LENGTH(response)) AS bytes FROM attempts WHERE webhook_id = ?',
      [webhook.id],
    );
    expect(Number(kept[0]?.bytes)).toBeLessThanOrEqual(4_096);
    expect(Number(kept[0]?.bytes)).toBeGreaterThan(4_000);
    const { body } = await service.call('GET', `/v1/webhooks/${webhook.id}`, { key: webhook.key });
    expect(body.webhook.status).toBe('active');
  });

  it('keeps the order, and sends from the first failed one on again before anything newer', async () => {
    const webhook = await createBatched('/ordered', { max: 8 }, { ordered: true });
    /** How often each number has failed. After the fifth time, its delivery would have failed for good. */
    const failures = new Map<number, number>();
    const accepted: number[] = [];
    receiver.answer(
      '/ordered',
      answering((numbers, response, ids) => {
        // At some numbers the handler stops, and names the rest: at 3, 13 … once, at 8, 18 … twice.
        const stops = (number: number) =>
          number % 5 === 3 && (failures.get(number) ?? 0) < (number % 10 === 3 ? 1 : 2);
        const at = numbers.some(stops) ? numbers.findIndex(stops) : numbers.length;
        const stopped = numbers[at];
        if (stopped !== undefined) failures.set(stopped, (failures.get(stopped) ?? 0) + 1);
        accepted.push(...numbers.slice(0, at));
        response.end(JSON.stringify({ failed: ids.slice(at) }));
      }),
    );
    for (let from = 0; from < 60; from += 12) await webhook.store(12, from);
    await webhook.delivered(60);
    expect(accepted).toEqual(range(0, 59));
  });

  it('waits for more until the batch is full or its time is over, without a lease', async () => {
    const webhook = await createBatched('/waits', { max: 5, wait_ms: 60_000 });
    await webhook.store(3);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(webhook.batches()).toEqual([]);
    const [row] = await service.runtime.database.query<{ lease_until: Date | null }[]>(
      'SELECT lease_until FROM webhook_cursors WHERE webhook_id = ?',
      [webhook.id],
    );
    expect(row?.lease_until).toBeNull();
    await webhook.store(2, 3);
    await webhook.delivered(5);
    expect(webhook.numbers().map(({ length }) => length)).toEqual([5]);

    const soon = await createBatched('/soon', { max: 500, wait_ms: 1_500 });
    const began = performance.now();
    await soon.store(2);
    await soon.store(2, 2);
    await soon.delivered(4);
    expect(performance.now() - began).toBeGreaterThan(1_400);
    expect(soon.numbers().map(({ length }) => length)).toEqual([4]);
  });

  it('is due at the same time after Redis has lost everything', async () => {
    const { database, queues } = service.runtime;
    const webhook = await createBatched('/lost', { max: 100, wait_ms: 3_000 });
    const began = performance.now();
    await webhook.store(4);
    const [queue] = queues.deliveries;
    const job = await until('its job is delayed', async () => {
      const delayed = await queue.getDelayed();
      return delayed.find(({ data }) => data.webhookId === webhook.id);
    });
    // As after a FLUSHALL.
    await job.remove();
    const added: string[] = [];
    const reconcile = () => reconcileDeliveries(database, async (ids) => void added.push(...ids));
    await reconcile();
    expect(added).not.toContain(webhook.id);
    await until('the reconciler finds it', async () => {
      await reconcile();
      return added.includes(webhook.id);
    });
    expect(performance.now() - began).toBeGreaterThan(2_900);
    await addDeliveryJobs(queues, [webhook.id]);
    await webhook.delivered(4);
    expect(webhook.numbers().map(({ length }) => length)).toEqual([4]);
  });

  it('keeps what each attempt was sent in when a delivery is sent again', async () => {
    const webhook = await createBatched('/again', { max: 5 });
    receiver.answer('/again', (_received, response) => void response.end('thanks'));
    await webhook.change({ status: 'paused' });
    await webhook.store(2);
    await webhook.change({ status: 'active' });
    await webhook.delivered(2);
    const [, second] = webhook.batches()[0]?.events ?? [];
    const path = `/v1/deliveries/${second?.id.replace('msg_', '')}`;
    await service.call('POST', `${path}/redeliver`, { key: webhook.key, body: {} });
    await until('it came again', () => webhook.batches().length === 2);
    await webhook.delivered(2);
    const { body } = await service.call('GET', path, { key: webhook.key });
    const ids = webhook.batches().map(({ batch }) => batch);
    expect(body.delivery.log).toMatchObject(ids.map((batch) => ({ batch, response: 'thanks' })));
  });

  it('has a test of one event, and refuses settings that do not fit', async () => {
    const webhook = await createBatched('/test', { max: 2 });
    const { body } = await service.call('POST', `/v1/webhooks/${webhook.id}/test`, { key: webhook.key });
    expect(body.test).toEqual({ status_code: 200, error: null });
    const [received] = receiver.at('/test');
    expect(received?.headers['webhook-test']).toBe('true');
    expect(webhook.batches()).toEqual([
      {
        batch: received?.headers['webhook-id'],
        events: [
          { id: expect.stringMatching(/^msg_test_/), body: expect.objectContaining({ code: 'TEST' }) },
        ],
      },
    ]);
    for (const batch of [
      { max: 1 },
      { max: 1_001 },
      { max: 5, wait_ms: 60_001 },
      { wait_ms: 5 },
      5,
      { max: 5, more: 1 },
    ])
      expect((await webhook.change({ batch })).status, JSON.stringify(batch)).toBe(422);
    expect((await webhook.change({ encoding: 'form' })).body.errors[0].path).toBe('batch');
    const { body: changed } = await webhook.change({ batch: { max: 9, wait_ms: 5 } });
    expect(changed.webhook.batch).toEqual({ max: 9, wait_ms: 5 });
    expect((await webhook.change({ batch: null, encoding: 'form' })).body.webhook.batch).toBeNull();
  });
});

describe('the attempts of a batch', () => {
  /** The log of each delivery of a webhook, in the order of the movements. */
  async function logsOf({ id, key }: { id: string; key: string }) {
    const { body } = await service.call('GET', `/v1/webhooks/${id}/deliveries`, { key });
    const found = await Promise.all(
      (body.deliveries as { id: string }[])
        .toReversed()
        .map((it) => service.call('GET', `/v1/deliveries/${it.id}`, { key })),
    );
    return found.map((it) => it.body.delivery.log as { batch: string | null; response: string | null }[]);
  }

  it('name the batch, and each shows the answer to it', async () => {
    const webhook = await createBatched('/log', { max: 3 });
    const answers = [JSON.stringify({ failed: [] }), 'thanks'];
    let named: string[] = [];
    receiver.answer(
      '/log',
      answering((_numbers, response, ids) => {
        if (named.length > 0) return void response.end(answers[1]);
        // The first event is attempted again, and its answer is read from its earlier attempt then.
        named = ids.slice(0, 1);
        response.end(JSON.stringify({ failed: named }));
      }),
    );
    await webhook.change({ status: 'paused' });
    await webhook.store(3);
    await webhook.change({ status: 'active' });
    await webhook.delivered(3);
    const [first, second] = webhook.batches();
    const answer = JSON.stringify({ failed: named });
    const logs = await logsOf(webhook);
    expect(logs).toMatchObject([
      [
        {
          outcome: 'failed',
          batch: first?.batch,
          response: answer,
          error: 'the receiver named it in failed',
        },
        { outcome: 'delivered', batch: second?.batch, response: 'thanks' },
      ],
      [{ outcome: 'delivered', batch: first?.batch, response: answer, error: null }],
      [{ outcome: 'delivered', batch: first?.batch, response: answer, error: null }],
    ]);
  });

  it('are those of single POSTs without the setting', async () => {
    const webhook = await createBatched('/single', { max: 3 });
    await webhook.change({ batch: null });
    await webhook.store(1);
    await webhook.delivered(1);
    expect(await logsOf(webhook)).toMatchObject([[{ batch: null, outcome: 'delivered' }]]);
  });

  it('show the event within its batch to an operator', async () => {
    const webhook = await createBatched('/shown', { max: 3 });
    await webhook.change({ status: 'paused' });
    await webhook.store(2);
    await webhook.change({ status: 'active' });
    await webhook.delivered(2);
    const [sent] = webhook.batches();
    const { database, secrets } = service.runtime;
    const [, second] = await findRows(webhook.id);
    const key = { webhookId: webhook.id, subjectId: second?.transaction_id ?? '' };
    const last = { startedAt: second?.started_at ?? new Date(), batchFirst: second?.batch_first ?? null };
    const shown = await rebuildRequest(database, secrets, key, last);
    expect(shown?.isBatch).toBe(true);
    expect(Object.fromEntries(shown?.headers ?? [])).toMatchObject({ 'webhook-id': sent?.batch });
    expect(JSON.parse(shown?.body ?? '')).toEqual({
      batch: sent?.batch,
      events: [{ ...sent?.events[1], body: { ...sent?.events[1]?.body, hash: '•••' } }],
    });
    // A form has no objects. What is shown then is one that is sent now.
    await webhook.change({ batch: null, encoding: 'form' });
    const single = await rebuildRequest(database, secrets, key, last);
    expect(single?.isBatch).toBe(false);
    expect(Object.fromEntries(single?.headers ?? [])['webhook-id']).toBe(
      `msg_${webhook.id}-${second?.transaction_id}`,
    );
  });

  const findRows = (webhookId: string) =>
    service.runtime.database.query<
      { transaction_id: string; started_at: Date; batch_first: string | null }[]
    >(
      'SELECT transaction_id, started_at, batch_first FROM deliveries WHERE webhook_id = ? ORDER BY transaction_id',
      [webhookId],
    );
});
