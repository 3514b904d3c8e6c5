import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { type Installation, pause, startInstallation } from '../installation.ts';
import { makeMovements, toNdjson } from '../movements.ts';
import { startProcess } from '../processes.ts';

const WEBHOOKS = 2;
const IN_FLIGHT = 16;

interface Counts {
  count: number;
  distinct: number;
  verified: number;
  wrong: number;
}

/**
 * Deliveries per second, end to end: from the POST of the import until every result and attempt is committed. Baseline: a
 * bare undici loop that signs and posts the same bodies to the same receiver with as many in flight, and stores nothing.
 */
export const deliveries: Figure = {
  about: 'deliveries/s from the POST of an import to committed results, against a bare loop of signed POSTs',
  byDefault: true,
  async prepare(scale: Scale) {
    const installation = await startInstallation();
    const movements = sized(scale, { smoke: 2_000, normal: 20_000 });
    return { round: () => round(installation, movements), end: () => installation.end() };
  },
};

async function round(installation: Installation, movementCount: number): Promise<Measured[]> {
  const { call, customer, receiver, runtime } = installation;
  const { api_key: key, accountId } = await customer();
  const secrets: Record<string, string> = {};
  const ids: string[] = [];
  for (let i = 0; i < WEBHOOKS; i += 1) {
    const path = `/${accountId}/${i}`;
    const { webhook } = (await call(key, 'POST', '/v1/webhooks', {
      title: path,
      endpoint: receiver.url + path,
      event: 'NEW_TRANSACTION',
      account: 'all',
      max_in_flight: IN_FLIGHT,
    })) as { webhook: { id: string; secret: string } };
    secrets[path] = webhook.secret;
    ids.push(webhook.id);
  }
  receiver.send({ secrets, reset: true });
  const movements = makeMovements(movementCount, accountId, 'deliveries');
  const total = movementCount * WEBHOOKS;

  const started = performance.now();
  await call(key, 'POST', '/v1/imports', toNdjson(movements), 'application/x-ndjson');
  while ((await counts(installation)).count < total) await pause(20);
  while ((await pending(runtime, ids)) > 0) await pause(5);
  const seconds = (performance.now() - started) / 1_000;

  const { count, distinct, verified, wrong } = await counts(installation);
  const [stored] = await runtime.database.query<{ delivered: string; attempts: string }[]>(
    `SELECT COUNT(*) AS delivered, COUNT(a.delivery_id) AS attempts FROM deliveries d
     LEFT JOIN attempts a ON a.delivery_id = d.id AND a.outcome = 'delivered'
     WHERE d.webhook_id IN (?) AND d.status = 'delivered'`,
    [ids],
  );
  const right =
    count === total &&
    distinct === total &&
    wrong === 0 &&
    verified > 0 &&
    Number(stored?.delivered) === total &&
    Number(stored?.attempts) === total;
  if (!right)
    throw new Error(
      `counts do not match: ${JSON.stringify({ total, count, distinct, verified, wrong, stored })}`,
    );

  const [path = '', secret = ''] = Object.entries(secrets)[0] ?? [];
  const loop = startProcess('./bare-loop.js');
  loop.send({
    url: receiver.url + path,
    bodies: movements
      .slice(0, 1_000)
      .map(({ opponent_id, opponent_iban, dc, code, amount, balance, description }) =>
        JSON.stringify({
          dc,
          code,
          amount,
          balance,
          currency: 'TRY',
          description,
          account_id: accountId,
          account: 'Ana Hesap',
          bank: 'Garanti BBVA',
          opponent_id,
          opponent_iban,
          hash: 'ZTNiMGM0NDI5OGZjMWMxNDlhZmJmNGM4OTk2ZmI5MjQyN2FlNDFlNDY0OWI5MzRjYTQ5NTk5MWI3ODUyYjg1NQ==',
        }),
      ),
    count: total,
    inFlight: IN_FLIGHT * WEBHOOKS,
    secret,
  });
  const bare = await loop.receive<{ seconds: number }>();
  await loop.end();
  return [
    {
      name: `deliveries, ${WEBHOOKS} webhooks`,
      unit: 'deliveries/s',
      value: total / seconds,
      baseline: { name: 'bare undici loop that signs and posts', value: total / bare.seconds },
      wanted: { atLeast: 0.6 },
    },
  ];
}

async function counts({ receiver }: Installation): Promise<Counts> {
  receiver.send({ ask: true });
  return receiver.receive<Counts>();
}

async function pending(
  { database }: Installation['runtime'],
  webhookIds: readonly string[],
): Promise<number> {
  const [row] = await database.query<{ n: string }[]>(
    `SELECT COUNT(*) AS n FROM deliveries WHERE webhook_id IN (?) AND status = 'pending'`,
    [webhookIds],
  );
  return Number(row?.n);
}
