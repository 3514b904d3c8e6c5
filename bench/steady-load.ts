import { monotonic } from './clock.ts';
import { type Installation, pause } from './installation.ts';
import { askReceiver } from './load.ts';
import { makeMovements } from './movements.ts';

/** A customer with one account and one webhook for all of its movements. */
export interface Subscriber {
  customerId: string;
  key: string;
  accountId: string;
  webhookId: string;
  path: string;
  secret: string;
}

/** How many are created at the same time. */
const AT_A_TIME = 8;

/** Creates customers with one account and one webhook each. @param path on the receiver; the account's id is appended. */
export async function subscribeAll(
  { call, customer, receiver }: Installation,
  count: number,
  path: string,
): Promise<Subscriber[]> {
  const all: Subscriber[] = [];
  let begun = 0;
  const make = async () => {
    while (begun < count) {
      const at = begun;
      begun += 1;
      const { api_key: key, accountId, customer: owner } = await customer();
      const ownPath = `${path}/${accountId}`;
      const { webhook } = (await call(key, 'POST', '/v1/webhooks', {
        title: path,
        endpoint: receiver.url + ownPath,
        event: 'NEW_TRANSACTION',
        account: 'all',
      })) as { webhook: { id: number | string; secret: string } };
      const { secret } = webhook;
      all[at] = {
        customerId: owner.id,
        key,
        accountId,
        webhookId: String(webhook.id),
        path: ownPath,
        secret,
      };
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, make));
  return all;
}

/** Deletes the webhooks, so that nothing more is sent to them. */
export async function deleteAll({ call }: Installation, all: readonly Subscriber[]): Promise<void> {
  for (const { key, webhookId } of all) await call(key, 'DELETE', `/v1/webhooks/${webhookId}`);
}

/**
 * Sends single movements at a steady rate, to the customers in turn, for as long as `goOn` returns true. The paths of the
 * subscribers must begin with /timed.
 * @returns the milliseconds from the 202 to the receipt of each.
 * @throws when one is refused.
 */
export async function steadyLoad(
  installation: Installation,
  subscribers: readonly Subscriber[],
  { rate, goOn }: { rate: number; goOn: (sent: number) => boolean },
): Promise<number[]> {
  const { call, receiver, runtime } = installation;
  receiver.send({ reset: true });
  const tag = `steady-${monotonic()}`;
  const [newest] = await runtime.database.query<{ id: string }[]>(
    'SELECT COALESCE(MAX(id), 0) AS id FROM transactions',
  );
  const accepted = new Map<string, number>();
  const requests: Promise<void>[] = [];
  const start = monotonic();
  for (let i = 0; goOn(i); i += 1) {
    await pause(Math.max(0, start + (i * 1_000) / rate - monotonic()));
    const { key, accountId } = subscribers[i % subscribers.length] as Subscriber;
    const [movement] = makeMovements(1, accountId, `${tag}-${i}`);
    const request = call(key, 'POST', '/v1/imports', { transactions: [movement] }).then(() => {
      accepted.set(`${tag}-${i}-0`, monotonic());
    });
    request.catch(() => {}); // Reported when all are awaited.
    requests.push(request);
  }
  await Promise.all(requests);
  const rows = await untilStored(runtime, { after: newest?.id ?? '0', tag, count: accepted.size });
  for (;;) {
    const { arrivals } = await askReceiver(installation);
    const waits = rows.flatMap(({ id, unique_id }) => {
      const arrived = arrivals[id];
      return arrived === undefined ? [] : [Math.max(0, arrived - (accepted.get(unique_id) ?? 0))];
    });
    if (waits.length === accepted.size) return waits;
    await pause(100);
  }
}

async function untilStored(
  { database }: Installation['runtime'],
  { after, tag, count }: { after: string; tag: string; count: number },
): Promise<{ id: string; unique_id: string }[]> {
  for (;;) {
    const rows = await database.query<{ id: string; unique_id: string }[]>(
      'SELECT id, CONVERT(unique_id USING utf8mb4) AS unique_id FROM transactions WHERE id > ? AND unique_id LIKE ?',
      [after, `${tag}-%`],
    );
    if (rows.length === count) return rows;
    await pause(100);
  }
}
