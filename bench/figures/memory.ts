import { Readable } from 'node:stream';
import { request } from 'undici';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import type { Installation } from '../installation.ts';
import { addAccount, markDeliveries, subscribe, untilDelivered, untilDone } from '../load.ts';
import { makeMovements, toNdjson } from '../movements.ts';
import { forgetPeak, memoryOf } from '../usage.ts';

const ROLES = ['api 1', 'importer', 'delivery 1', 'maintenance'];
const BLOCK = 1_000;

/** Without a unique_id, the content of every tenth movement is equal to that of the one before. */
const EQUAL_EVERY = 10;

/** A webhook matches one movement in so many. The rest is only stored, to keep the run short. */
const NOTIFIED_EVERY = 10;

/**
 * Peak resident memory of each process while one NDJSON body of a million movements is received and stored, and a tenth of it
 * is delivered to a webhook. It is measured once with a unique_id in each movement, and once without, where the importer has to
 * count equal movements. The client generates the body while it is sent, and never holds all of it.
 */
export const memory: Figure = {
  about: 'peak memory of each process while one NDJSON stream of 1,000,000 movements goes in',
  rounds: 1,
  async prepare(scale: Scale, start) {
    const installation = await start();
    const rows = sized(scale, { smoke: 5_000, normal: 1_000_000 });
    return {
      server: installation.server,
      round: async () => [
        ...(await stream(installation, rows, 'with unique_id')),
        ...(await stream(installation, rows, 'without unique_id')),
      ],
      end: () => installation.end(),
    };
  },
};

async function stream(
  installation: Installation,
  rows: number,
  kind: 'with unique_id' | 'without unique_id',
): Promise<Measured[]> {
  const { pids, receiver, runtime, url } = installation;
  const { api_key: key, accountId: notified, customer } = await installation.customer();
  const quiet = await addAccount(installation, key);
  const { id, path, secret } = await subscribe(installation, key, {
    path: `/${notified}`,
    account: notified,
  });
  receiver.send({ secrets: { [path]: secret } });
  const mark = await markDeliveries(installation, [id]);
  for (const role of ROLES) await forgetPeak(pids[role] ?? 0);

  const answer = await request(`${url}/v1/imports`, {
    method: 'POST',
    headers: { Authentication: key, 'content-type': 'application/x-ndjson' },
    body: Readable.from(lines(rows, notified, quiet, kind === 'with unique_id')),
  });
  const body = (await answer.body.json()) as { import: { id: number | string } };
  if (answer.statusCode !== 202) throw new Error(`the stream was refused: ${JSON.stringify(body)}`);
  await untilDone(installation, key, String(body.import.id), rows);
  await untilDelivered(installation, mark, rows / NOTIFIED_EVERY);
  if (kind === 'without unique_id') {
    const [counted] = await runtime.database.query<{ second: string; more: string }[]>(
      `SELECT SUM(unique_id LIKE 'content:%:2') AS second, SUM(unique_id NOT LIKE 'content:%:1') AS more
       FROM transactions WHERE customer_id = ?`,
      [customer.id],
    );
    const expected = rows / EQUAL_EVERY;
    if (Number(counted?.second) !== expected || Number(counted?.more) !== expected) {
      throw new Error(`equal movements are not counted rightly: ${JSON.stringify({ expected, counted })}`);
    }
  }
  return Promise.all(
    ROLES.map(async (role) => ({
      name: `peak of ${role.replace(' 1', '')}, ${rows.toLocaleString('en')} movements ${kind}`,
      unit: 'MB resident',
      value: (await memoryOf(pids[role] ?? 0)).peak,
      wanted: { atMost: 300 },
    })),
  );
}

/** Generates the body, a thousand lines at a time. */
function* lines(rows: number, notified: string, quiet: string, withId: boolean): Generator<string> {
  const template = makeMovements(BLOCK, quiet, 'memory');
  for (let first = 0; first < rows; first += BLOCK) {
    const block = template.map(({ unique_id, ...rest }, i) => {
      const n = first + i;
      const content = withId || (n + 1) % EQUAL_EVERY !== 0 ? n : n - 1;
      return {
        ...rest,
        account_id: i < BLOCK / NOTIFIED_EVERY ? notified : quiet,
        dc: 'Debit',
        amount: `${content}.00`,
        ...(withId ? { unique_id: `memory-${n}` } : {}),
        balance: null,
        description: `EFT GÖNDEREN ŞÜKRÜ ÖZGÜR İNCE AÇIKLAMA KİRA ÖDEMESİ ${content}`,
      };
    });
    yield `${toNdjson(block)}\n`;
  }
}
