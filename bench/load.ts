import { monotonic } from './clock.ts';
import { type Installation, pause } from './installation.ts';
import { makeMovements, toNdjson } from './movements.ts';

/** A webhook of the benchmark. */
export interface Subscribed {
  id: string;
  path: string;
  secret: string;
}

/** Creates a webhook for all movements of an account, over the API. @param path on the receiver. */
export async function subscribe(
  { call, receiver }: Installation,
  key: string,
  { path, account }: { path: string; account: string },
): Promise<Subscribed> {
  const { webhook } = (await call(key, 'POST', '/v1/webhooks', {
    title: path,
    endpoint: receiver.url + path,
    event: 'NEW_TRANSACTION',
    account,
  })) as { webhook: { id: number | string; secret: string } };
  return { id: String(webhook.id), path, secret: webhook.secret };
}

/** Adds an account to the customer. @returns its id. */
export async function addAccount({ call }: Installation, key: string): Promise<string> {
  const { account } = (await call(key, 'POST', '/v1/accounts', {
    bank: 'Garanti BBVA',
    title: 'Ana Hesap',
    currency: 'TRY',
  })) as { account: { id: number | string } };
  return String(account.id);
}

/**
 * An NDJSON body of movements, over the accounts in turn. Their unique_ids are spread among those of `storeHistory`, so that
 * each movement goes to a different place of the large index.
 * @param among how many movements are already stored.
 */
export function scatteredMovements(
  count: number,
  accountIds: readonly string[],
  { run, among }: { run: string; among: number },
): string {
  return toNdjson(
    makeMovements(count, '', run).map((movement, i) => ({
      ...movement,
      account_id: accountIds[i % accountIds.length],
      unique_id: `${String((i * A_PRIME) % among).padStart(12, '0')}-${movement.unique_id}`,
    })),
  );
}

const A_PRIME = 7_368_787;

/** Imports one NDJSON body. @returns the import's id. */
export async function send({ call }: Installation, key: string, body: string): Promise<string> {
  const answer = await call(key, 'POST', '/v1/imports', body, 'application/x-ndjson');
  return String((answer.import as { id: number | string }).id);
}

/** Waits until an import is done. @throws when it has failed, or has not stored `rows` rows. */
export async function untilDone(
  { call }: Installation,
  key: string,
  importId: string,
  rows: number,
): Promise<void> {
  for (;;) {
    const { import: it } = (await call(key, 'GET', `/v1/imports/${importId}`)) as {
      import: { status: string; inserted: number };
    };
    if (it.status === 'failed' || (it.status === 'done' && it.inserted !== rows)) {
      throw new Error(`import ${importId} is ${it.status}: ${it.inserted} of ${rows} rows were stored`);
    }
    if (it.status === 'done') return;
    await pause(10);
  }
}

/** The state of some webhooks' deliveries before a load. */
export interface Mark {
  webhookIds: readonly string[];
  /** Deliveries that their cursors count as delivered. */
  delivered: number;
  /** Id of the newest movement. Those of the load come after it. */
  newest: string;
}

/** Call this before a load, for `untilDelivered`. It resets the counts of the receiver. */
export async function markDeliveries(
  { receiver, runtime }: Installation,
  webhookIds: readonly string[],
): Promise<Mark> {
  receiver.send({ reset: true });
  const { delivered } = await countDelivered(runtime, webhookIds);
  const [row] = await runtime.database.query<{ id: string }[]>(
    'SELECT COALESCE(MAX(id), 0) AS id FROM transactions',
  );
  return { webhookIds, delivered, newest: row?.id ?? '0' };
}

async function countDelivered({ database }: Installation['runtime'], webhookIds: readonly string[]) {
  const [row] = await database.query<{ delivered: string; failed: string; matched: string }[]>(
    `SELECT SUM(c.delivered_count) AS delivered, SUM(c.failed_count) AS failed, SUM(b.matched_count) AS matched
     FROM webhook_cursors c JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id WHERE c.webhook_id IN (?)`,
    [webhookIds],
  );
  const [delivered, failed, matched] = [row?.delivered, row?.failed, row?.matched].map(Number);
  return {
    delivered: delivered ?? Number.NaN,
    pending: (matched ?? Number.NaN) - (delivered ?? 0) - (failed ?? 0),
  };
}

/** The receiver's counts of the POSTs since its last reset. */
export interface Received {
  count: number;
  distinct: number;
  verified: number;
  wrong: number;
  /** When the last one was received, in monotonic milliseconds. */
  lastAt: number;
  /** POSTs to /erp… that wait for their answer. */
  held: number;
  /**
   * When each one to /timed… was received, by the movement's id, and each event of the batches to /batch…, by its id, in monotonic
   * milliseconds.
   */
  arrivals: Record<string, number>;
}

export function askReceiver({ receiver }: Pick<Installation, 'receiver'>): Promise<Received> {
  const answer = receiver.receive<Received>();
  receiver.send({ ask: true });
  return answer;
}

/** Missing POSTs are lost when none has been received for this many milliseconds. */
const PATIENCE = 60_000;

/**
 * Waits until `total` POSTs have reached the receiver since its last reset.
 * @param every milliseconds between two questions to the receiver.
 * @throws when one was received twice or had a wrong signature, or when no more are received.
 */
export async function untilReceived(
  installation: Pick<Installation, 'receiver'>,
  total: number,
  { every = 20 } = {},
): Promise<Received> {
  for (let [count, since] = [-1, monotonic()]; ; ) {
    const received = await askReceiver(installation);
    if (received.count >= total) {
      requireEqual({ expected: total, received: received.count, distinct: received.distinct });
      requireEqual({ expected: 0, 'wrong signatures': received.wrong });
      return received;
    }
    if (received.count > count) [count, since] = [received.count, monotonic()];
    if (monotonic() > since + PATIENCE) throw new Error(`only ${count} of ${total} POSTs were received`);
    await pause(every);
  }
}

/**
 * Waits until `total` deliveries have reached the receiver and their results are committed.
 * @throws when one was received twice, had a wrong signature, or has no result.
 */
export async function untilDelivered(installation: Installation, mark: Mark, total: number): Promise<void> {
  const { webhookIds, newest } = mark;
  const received = await untilReceived(installation, total);
  for (const since = monotonic(); ; await pause(5)) {
    const { delivered } = await countDelivered(installation.runtime, webhookIds);
    if (delivered - mark.delivered >= total) break;
    if (monotonic() > since + PATIENCE) {
      throw new Error(`only ${delivered - mark.delivered} of ${total} deliveries have a result`);
    }
  }
  await checkDelivered(installation, mark, total);
  if (received.verified === 0) throw new Error(`no signature of ${total} deliveries was verified`);
  const [stored] = await installation.runtime.database.query<{ count: string }[]>(
    `SELECT COUNT(*) AS count FROM deliveries
     WHERE webhook_id IN (?) AND transaction_id > ? AND status = 'delivered' AND attempts = 1`,
    [webhookIds, newest],
  );
  requireEqual({ expected: total, 'rows in deliveries': Number(stored?.count) });
}

/** @throws when the counts of the receiver, after all are delivered, or those of the webhooks differ from `total`. */
async function checkDelivered(installation: Installation, mark: Mark, total: number): Promise<void> {
  const { count, distinct, wrong } = await askReceiver(installation);
  const { delivered, pending } = await countDelivered(installation.runtime, mark.webhookIds);
  requireEqual({ expected: total, received: count, distinct, delivered: delivered - mark.delivered });
  requireEqual({ expected: 0, pending, 'wrong signatures': wrong });
}

/** @throws naming all counts when they are not equal. */
export function requireEqual(counts: Record<string, number>): void {
  if (new Set(Object.values(counts)).size > 1) {
    throw new Error(`counts do not match: ${JSON.stringify(counts)}`);
  }
}
