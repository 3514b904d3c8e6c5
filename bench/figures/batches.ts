import { monotonic } from '../clock.ts';
import { type Figure, type Round, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { requireEqual, send, subscribe, untilDone } from '../load.ts';
import { makeMovements, toNdjson } from '../movements.ts';

/** The most events of a batch. */
const MAX = 500;

/**
 * Deliveries per second of a backlog, from the moment at which its webhook is made active to the last recorded result: in batches, and each
 * as a POST of its own. Both webhooks have matched the same movements while they were paused.
 */
export const batches: Figure = {
  about: 'deliveries/s of a backlog in batches of 500, against a POST for each',
  onGivenServer: true,
  async prepare(scale: Scale, start) {
    const installation = await start();
    const rows = sized(scale, { smoke: 1_200, normal: 200_000 });
    return {
      server: installation.server,
      round: () => round(installation, rows),
      end: () => installation.end(),
    };
  },
};

async function round(installation: Installation, rows: number): Promise<Round> {
  const { call } = installation;
  const { api_key: key, accountId } = await installation.customer();
  const make = async (path: string, batch: object | null) => {
    const { id } = await subscribe(installation, key, { path, account: accountId });
    await call(key, 'PATCH', `/v1/webhooks/${id}`, { batch, status: 'paused' });
    return id;
  };
  const single = await make('/single', null);
  const batched = await make('/batched', { max: MAX });
  const body = toNdjson(makeMovements(rows, accountId, `batches-${monotonic()}`));
  await untilDone(installation, key, await send(installation, key, body), rows);
  const asPosts = await measureBacklog(installation, key, single, rows);
  const inBatches = await measureBacklog(installation, key, batched, rows);
  requireEqual({ expected: rows, asPosts: asPosts.delivered, inBatches: inBatches.delivered });
  return [
    {
      name: `a backlog of ${rows}, batches of ${MAX}`,
      unit: 'deliveries/s',
      value: rows / inBatches.seconds,
      baseline: { name: 'a POST for each', value: rows / asPosts.seconds },
      wanted: { atLeast: 2 },
    },
  ];
}

/** Makes a webhook active, and waits until everything is delivered. */
async function measureBacklog(
  { call, runtime }: Installation,
  key: string,
  id: string,
  rows: number,
): Promise<{ delivered: number; seconds: number }> {
  const startedAt = monotonic();
  await call(key, 'PATCH', `/v1/webhooks/${id}`, { status: 'active' });
  for (;;) {
    const [row] = await runtime.database.query<{ delivered: string }[]>(
      'SELECT delivered_count AS delivered FROM webhook_cursors WHERE webhook_id = ?',
      [id],
    );
    const delivered = Number(row?.delivered);
    if (delivered >= rows) return { delivered, seconds: (monotonic() - startedAt) / 1_000 };
    await pause(20);
  }
}
