import { createDataSource } from '../../src/database/data-source.ts';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { askReceiver, requireEqual, subscribe } from '../load.ts';
import { emptyTables } from '../movement-tables.ts';
import { makeMovements, toNdjson } from '../movements.ts';

/** Rows of one raw INSERT, as many as the importer stores in one transaction. */
const CHUNK = 1_000;
const JSON_PIECE = 5_000;

/** Number of webhooks that match every movement, and the wanted share of the rate without webhooks. */
const MATCHING = [
  { webhooks: 2, wanted: { atLeast: 0.9 } },
  { webhooks: 100, wanted: { atLeast: 0.8 } },
];

type Movements = ReturnType<typeof makeMovements>;

/** How a client imports the movements: with these bodies, one after the other. */
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
 * Rows per second from the first POST of an import until all of it is stored. Baseline: one connection that only inserts the
 * same rows into the same table. Then the same file is imported again, compared with the first time. Then it is imported with
 * 2 and 100 matching webhooks, compared with none. These webhooks are paused, so that they match and nothing is sent.
 */
export const imports: Figure = {
  about: 'rows/s from the POST of an import to stored: against raw multi-row INSERTs, and with webhooks',
  onGivenServer: true,
  async prepare(scale: Scale, start) {
    const installation = await start();
    const rows = sized(scale, { smoke: 2_000, normal: 100_000 });
    return {
      server: installation.server,
      async round() {
        const measured: Measured[] = [];
        for (const way of Object.keys(WAYS) as Way[])
          measured.push(...(await round(installation, way, rows)));
        await emptyTables(installation.runtime.database);
        return measured;
      },
      end: () => installation.end(),
    };
  },
};

async function round(installation: Installation, way: Way, rows: number): Promise<Measured[]> {
  const unit = 'rows/s';
  const quiet = await client(installation, way, rows);
  const raw = rows / (await insertRaw(installation, rows));
  const alone = rows / (await quiet.importAll({ inserted: rows, duplicates: 0, deliveries: 0 }));
  const again = rows / (await quiet.importAll({ inserted: 0, duplicates: rows, deliveries: 0 }));
  const measured: Measured[] = [
    {
      name: `imports, ${way}, no webhooks`,
      unit,
      value: alone,
      baseline: { name: 'raw multi-row INSERTs on one connection', value: raw },
      wanted: { atLeast: 0.5 },
    },
    {
      name: `imports, ${way}, known already`,
      unit,
      value: again,
      baseline: { name: 'the same file the first time', value: alone },
      wanted: { atLeast: 0.5 },
    },
  ];
  for (const { webhooks, wanted } of MATCHING) {
    const matched = await client(installation, way, rows);
    await subscribePaused(installation, matched, webhooks);
    const expected = { inserted: rows, duplicates: 0, deliveries: webhooks * rows };
    measured.push({
      name: `imports, ${way}, ${webhooks} matching webhooks`,
      unit,
      value: rows / (await matched.importAll(expected)),
      baseline: { name: 'the same without webhooks', value: alone },
      wanted,
    });
    await deleteWebhooks(installation, matched.key);
  }
  return measured;
}

interface Counts {
  inserted: number;
  duplicates: number;
  deliveries: number;
}

interface Client {
  customerId: string;
  key: string;
  accountId: string;
  /** @returns seconds. @throws when the counts differ from `expected`. */
  importAll(expected: Counts): Promise<number>;
}

/** A customer that imports one file. */
async function client({ call, customer }: Installation, way: Way, rows: number): Promise<Client> {
  const { api_key: key, accountId, customer: owner } = await customer();
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
    customerId: owner.id,
    key,
    accountId,
    async importAll(expected) {
      const started = performance.now();
      const ids: string[] = [];
      for (const body of sent) {
        const answer = await call(key, 'POST', '/v1/imports', body, type);
        ids.push(String((answer.import as { id: number | string }).id));
      }
      const sums: Counts = { inserted: 0, duplicates: 0, deliveries: 0 };
      // The last import is among the last to finish. Waiting for it first saves polling all the others.
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

/** Inserts the same rows for a customer of its own. @returns the seconds that one connection took. */
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

/** Creates paused webhooks that match all movements of the customer. */
async function subscribePaused(
  installation: Installation,
  { customerId, key, accountId }: Client,
  webhooks: number,
): Promise<void> {
  for (let i = 0; i < webhooks; i += 1) {
    await subscribe(installation, key, { path: `/imports/${i}`, account: accountId });
  }
  installation.receiver.send({ reset: true });
  await installation.runtime.database.query(
    "UPDATE webhooks SET status = 'paused', revision = revision + 1 WHERE customer_id = ?",
    [customerId],
  );
}

/** @throws when a paused webhook has sent something. */
async function deleteWebhooks(installation: Installation, key: string): Promise<void> {
  const { call } = installation;
  requireEqual({ expected: 0, received: (await askReceiver(installation)).count });
  const { webhooks } = (await call(key, 'GET', '/v1/webhooks')) as { webhooks: { id: number | string }[] };
  for (const { id } of webhooks) await call(key, 'DELETE', `/v1/webhooks/${id}`);
}

const inPieces = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
