import { type Installation, pause } from './installation.ts';
import { makeMovements, toNdjson } from './movements.ts';

/** A webhook of the benchmark. */
export interface Subscribed {
  id: string;
  path: string;
  secret: string;
}

interface Counts {
  count: number;
  distinct: number;
  verified: number;
  wrong: number;
}

/** Makes a webhook for all movements of one account, over the API. @param path on the receiver. */
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
  })) as { webhook: { id: string; secret: string } };
  return { id: webhook.id, path, secret: webhook.secret };
}

/** One more account of the customer. @returns its id. */
export async function addAccount({ call }: Installation, key: string): Promise<string> {
  const { account } = (await call(key, 'POST', '/v1/accounts', {
    bank: 'Garanti BBVA',
    title: 'Ana Hesap',
    currency: 'TRY',
  })) as { account: { id: string } };
  return account.id;
}

/**
 * An NDJSON body of movements, over the accounts in turn. Their ids lie anywhere among those that `storeHistory` gave, so
 * that each is stored at a place of its own in an index that is as large as what is stored.
 * @param among how many movements are stored already.
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

/** Sends one NDJSON body in. @returns the import's id. */
export async function send({ call }: Installation, key: string, body: string): Promise<string> {
  const answer = await call(key, 'POST', '/v1/imports', body, 'application/x-ndjson');
  return (answer.import as { id: string }).id;
}

/** Waits until an import is done. @throws when it failed, or did not store as many rows as it should. */
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

/** The newest delivery there is: those of a load are the ones after it. */
export async function newestDelivery({ runtime }: Installation): Promise<string> {
  const [row] = await runtime.database.query<{ id: string }[]>(
    'SELECT COALESCE(MAX(id), 0) AS id FROM deliveries',
  );
  return row?.id ?? '0';
}

/**
 * Waits until so many deliveries have reached the receiver, which was reset before, and are committed with their attempts.
 * @param after the newest delivery before the load.
 * @throws when one came twice, was not signed rightly or is not in the ledger.
 */
export async function untilDelivered(
  { receiver, runtime }: Installation,
  after: string,
  total: number,
): Promise<void> {
  const counts = async () => {
    receiver.send({ ask: true });
    return receiver.receive<Counts>();
  };
  while ((await counts()).count < total) await pause(20);
  for (;;) {
    const [row] = await runtime.database.query<{ n: string }[]>(
      `SELECT COUNT(*) AS n FROM deliveries WHERE id > ? AND status = 'pending'`,
      [after],
    );
    if (Number(row?.n) === 0) break;
    await pause(5);
  }
  const { count, distinct, verified, wrong } = await counts();
  const [stored] = await runtime.database.query<{ delivered: string; attempts: string }[]>(
    `SELECT COUNT(*) AS delivered, COUNT(a.delivery_id) AS attempts FROM deliveries d
     LEFT JOIN attempts a ON a.delivery_id = d.id AND a.outcome = 'delivered'
     WHERE d.id > ? AND d.status = 'delivered'`,
    [after],
  );
  const right =
    count === total &&
    distinct === total &&
    wrong === 0 &&
    (verified > 0 || total < VERIFIED_EVERY) &&
    Number(stored?.delivered) === total &&
    Number(stored?.attempts) === total;
  if (!right) {
    throw new Error(
      `counts do not match: ${JSON.stringify({ total, count, distinct, verified, wrong, stored })}`,
    );
  }
}

/** As in receiver.ts. */
const VERIFIED_EVERY = 1_000;
