import { monotonic } from '../clock.ts';
import { type Figure, type Round, type Scale, sized } from '../figure.ts';
import { FIRST_DAY } from '../history.ts';
import type { Installation } from '../installation.ts';
import { askReceiver, requireEqual, subscribe } from '../load.ts';
import { storeDelivered, storeReadHistory } from '../surroundings.ts';

const FEW = 10;
/** Replays of each webhook per round. The two webhooks alternate. */
const REPLAYS = { smoke: 2, normal: 25 };

/** A paused webhook whose deliveries are all delivered. */
interface Delivered {
  key: string;
  webhookId: string;
  first: string;
  last: string;
}

/**
 * How long POST /v1/webhooks/:id/replay takes until its 202, for all deliveries of a webhook that has a million. Baseline: a
 * webhook that has ten. Both are paused, so that nothing is sent. Their deliveries are inserted directly into the tables.
 */
export const replay: Figure = {
  about: 'milliseconds until a replay of 1,000,000 deliveries is accepted, against a replay of ten',
  async prepare(scale: Scale, start) {
    const installation = await start();
    const size = sized(scale, { smoke: 2_000, normal: 1_000_000 });
    const many = await fill(installation, size);
    const few = await fill(installation, FEW);
    return {
      server: installation.server,
      async round(): Promise<Round> {
        installation.receiver.send({ reset: true });
        const [times, baseline]: [number[], number[]] = [[], []];
        for (let i = 0; i < sized(scale, REPLAYS); i += 1) {
          times.push(await replayAll(installation, many));
          baseline.push(await replayAll(installation, few));
        }
        requireEqual({ expected: 0, received: (await askReceiver(installation)).count });
        return [
          {
            name: `a replay of ${size.toLocaleString('en')} deliveries, median`,
            unit: 'ms until the 202',
            part: 0.5,
            times,
            baseline: { name: `a replay of ${FEW}`, times: baseline },
            wanted: { atMost: 1.5 },
          },
        ];
      },
      end: () => installation.end(),
    };
  },
};

async function fill(installation: Installation, size: number): Promise<Delivered> {
  const { database } = installation.runtime;
  const { api_key: key, accountId, customer: owner } = await installation.customer();
  await storeReadHistory(database, [{ customerId: owner.id, accountId }], size);
  const webhook = await subscribe(installation, key, { path: `/replay/${size}`, account: accountId });
  await database.query("UPDATE webhooks SET status = 'paused', revision = revision + 1 WHERE id = ?", [
    webhook.id,
  ]);
  await storeDelivered(database, webhook, owner.id);
  const [row] = await database.query<{ first: string; last: string }[]>(
    'SELECT MIN(transaction_id) AS first, MAX(transaction_id) AS last FROM deliveries WHERE webhook_id = ?',
    [webhook.id],
  );
  return { key, webhookId: webhook.id, first: row?.first ?? '', last: row?.last ?? '' };
}

/** @returns milliseconds until the 202. @throws when the replay is refused, or does not cover all deliveries. */
async function replayAll(
  { call, runtime }: Installation,
  { key, webhookId, first, last }: Delivered,
): Promise<number> {
  const started = monotonic();
  await call(key, 'POST', `/v1/webhooks/${webhookId}/replay`, {
    since: `${FIRST_DAY} 00:00:00`,
    status: 'delivered',
  });
  const took = monotonic() - started;
  const [stored] = await runtime.database.query<{ count: string }[]>(
    'SELECT COUNT(*) AS count FROM replays WHERE webhook_id = ? AND position < ? AND until_id >= ?',
    [webhookId, first, last],
  );
  requireEqual({ expected: 1, 'replays of all deliveries': Number(stored?.count) });
  // So each replay is the only one of its webhook.
  await runtime.database.query('DELETE FROM replays WHERE webhook_id = ?', [webhookId]);
  return took;
}
