import { createDataSource } from '../../src/database/data-source.ts';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { subscribe } from '../load.ts';
import { makeMovements, toNdjson } from '../movements.ts';

/** Rows of one raw INSERT, as many as the importer stores in one transaction. */
const CHUNK = 1_000;
const JSON_PIECE = 5_000;

type Movements = ReturnType<typeof makeMovements>;

/** The ways in: the bodies that a client sends, one after the other. */
const WAYS = {
  'one NDJSON stream': {
    type: 'application/x-ndjson',
    bodies: (movements: Movements) => [toNdjson(movements)],
  },
  'JSON, 5,000 at a time': {
    type: 'application/json',
    bodies: (movements: Movements) =>
      inPieces(movements, Math.min(JSON_PIECE, movements.length / 4)).map((transactions) =>
        JSON.stringify({ transactions }),
      ),
  },
};
type Way = keyof typeof WAYS;

/**
 * Rows per second from the first POST of an import until all of it is stored, without webhooks and with two. Baseline: one
 * connection that does nothing but insert the same rows into the same table. And the same file once more, against
 * the first time.
 */
export const imports: Figure = {
  about: 'rows/s from the POST of an import to stored, against raw multi-row INSERTs on one connection',
  byDefault: true,
  async prepare(scale: Scale, start) {
    const installation = await start();
    const rows = sized(scale, { smoke: 2_000, normal: 100_000 });
    return {
      async round() {
        const measured: Measured[] = [];
        for (const way of Object.keys(WAYS) as Way[])
          measured.push(...(await round(installation, way, rows)));
        await emptyTables(installation);
        return measured;
      },
      end: () => installation.end(),
    };
  },
};

async function round(installation: Installation, way: Way, rows: number): Promise<Measured[]> {
  const quiet = await client(installation, way, rows);
  const raw = rows / (await insertRaw(installation, rows));
  const alone = rows / (await quiet.importAll({ inserted: rows, duplicates: 0, deliveries: 0 }));
  const again = rows / (await quiet.importAll({ inserted: 0, duplicates: rows, deliveries: 0 }));

  const notified = await client(installation, way, rows);
  for (const path of ['/imports/1', '/imports/2']) {
    await subscribe(installation, notified.key, { path, account: notified.accountId });
  }
  const fanned = rows / (await notified.importAll({ inserted: rows, duplicates: 0, deliveries: 2 * rows }));
  await cancelAll(installation, notified.key);

  const unit = 'rows/s';
  const baseline = { name: 'raw multi-row INSERTs on one connection', value: raw };
  const wanted = { atLeast: 0.5 };
  return [
    { name: `imports, ${way}, no webhooks`, unit, value: alone, baseline, wanted },
    { name: `imports, ${way}, 2 webhooks`, unit, value: fanned, baseline },
    {
      name: `imports, ${way}, known already`,
      unit,
      value: again,
      baseline: { name: 'the same file the first time', value: alone },
      wanted,
    },
  ];
}

interface Counts {
  inserted: number;
  duplicates: number;
  deliveries: number;
}

/** A customer that sends one file in. `importAll` returns the seconds it took. @throws when something else was stored. */
async function client({ call, customer }: Installation, way: Way, rows: number) {
  const { api_key: key, accountId } = await customer();
  const { type, bodies } = WAYS[way];
  const sent = bodies(makeMovements(rows, accountId, 'import'));

  async function untilDone(id: string): Promise<Counts> {
    for (;;) {
      const answer = await call(key, 'GET', `/v1/imports/${id}`);
      const it = answer.import as Counts & { status: string };
      if (it.status === 'done') return it;
      if (it.status === 'failed') throw new Error(`import ${id} failed`);
      await pause(25);
    }
  }

  return {
    key,
    accountId,
    async importAll(expected: Counts): Promise<number> {
      const started = performance.now();
      const ids: string[] = [];
      for (const body of sent) {
        const answer = await call(key, 'POST', '/v1/imports', body, type);
        ids.push((answer.import as { id: string }).id);
      }
      const sums: Counts = { inserted: 0, duplicates: 0, deliveries: 0 };
      // The last one is among the last to be done: waited for first, it saves asking for all the others over and over.
      for (const id of ids.reverse()) {
        const done = await untilDone(id);
        for (const name of ['inserted', 'duplicates', 'deliveries'] as const) sums[name] += done[name];
      }
      const seconds = (performance.now() - started) / 1_000;
      if (JSON.stringify(sums) !== JSON.stringify(expected)) {
        throw new Error(`counts do not match: ${JSON.stringify({ way, expected, sums })}`);
      }
      return seconds;
    },
  };
}

/** @returns the seconds that one connection took for the same rows, of a customer of its own. */
async function insertRaw({ customer, databaseUrl }: Installation, rowCount: number): Promise<number> {
  const { accountId, customer: owner } = await customer();
  const rows = makeMovements(rowCount, accountId, 'raw').map((m) => [
    owner.id,
    m.account_id,
    0,
    m.unique_id,
    m.name,
    m.dc,
    m.code,
    m.amount,
    m.balance,
    m.description,
    m.date_issue,
    '2026-01-15 00:00:00',
    m.opponent_id,
    m.opponent_iban,
  ]);
  const database = createDataSource(databaseUrl, { poolSize: 1 });
  await database.initialize();
  const started = performance.now();
  for (const chunk of inPieces(rows, CHUNK)) {
    await database.query(
      `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, name, dc, code, amount, balance,
         description, date_issue, date_readed, opponent_id, opponent_iban) VALUES ?`,
      [chunk],
    );
  }
  const seconds = (performance.now() - started) / 1_000;
  await database.destroy();
  return seconds;
}

/** Deletes the customer's webhooks, which cancels what they are owed, and waits until nobody sends any more. */
async function cancelAll({ call, runtime }: Installation, key: string): Promise<void> {
  const { webhooks } = (await call(key, 'GET', '/v1/webhooks')) as { webhooks: { id: string }[] };
  for (const { id } of webhooks) await call(key, 'DELETE', `/v1/webhooks/${id}`);
  for (;;) {
    const [busy] = await runtime.database.query<{ id: string }[]>(
      'SELECT webhook_id FROM pumps WHERE lease_token IS NOT NULL LIMIT 1',
    );
    if (busy === undefined) return;
    await pause(50);
  }
}

/** Every round begins with empty tables: how they behave when they are full is a figure of its own. */
async function emptyTables({ runtime }: Installation): Promise<void> {
  for (const table of ['attempts', 'deliveries', 'transactions']) {
    await runtime.database.query(`TRUNCATE TABLE ${table}`);
  }
}

const inPieces = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
