import { createDataSource } from '../../src/database/data-source.ts';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { type Installation, pause, startInstallation } from '../installation.ts';
import { makeMovements, toNdjson } from '../movements.ts';

const PIECE = 1_000;

/**
 * Rows per second from the POST of one NDJSON body to the import's `done`, without webhooks. Baseline: one connection that
 * inserts the same rows into a table of the same shape, 1,000 at a time.
 */
export const imports: Figure = {
  about: 'rows/s from the POST of an import to stored, against raw multi-row INSERTs on one connection',
  byDefault: true,
  async prepare(scale: Scale) {
    const installation = await startInstallation();
    const rows = sized(scale, { smoke: 2_000, normal: 20_000 });
    return { round: () => round(installation, rows), end: () => installation.end() };
  },
};

async function round({ call, customer, databaseUrl }: Installation, rowCount: number): Promise<Measured[]> {
  const { api_key: key, accountId } = await customer();
  const run = String(performance.now());
  const body = toNdjson(makeMovements(rowCount, accountId, run));
  const started = performance.now();
  const { import: it } = (await call(key, 'POST', '/v1/imports', body, 'application/x-ndjson')) as {
    import: { id: string };
  };
  for (;;) {
    const { import: now } = (await call(key, 'GET', `/v1/imports/${it.id}`)) as {
      import: { status: string; inserted: number };
    };
    if (now.status === 'done') {
      if (now.inserted !== rowCount) throw new Error(`${now.inserted} of ${rowCount} rows were stored`);
      break;
    }
    await pause(10);
  }
  const seconds = (performance.now() - started) / 1_000;

  const database = createDataSource(databaseUrl, { poolSize: 1 });
  await database.initialize();
  await database.query('DROP TABLE IF EXISTS bench_transactions');
  await database.query('CREATE TABLE bench_transactions LIKE transactions');
  const rows = makeMovements(rowCount, accountId, run);
  const baselineStarted = performance.now();
  for (let i = 0; i < rowCount; i += PIECE) {
    await database.query(
      `INSERT INTO bench_transactions (customer_id, account_id, import_id, unique_id, name, dc, code, amount, balance,
         description, date_issue, date_readed, opponent_id, opponent_iban) VALUES ?`,
      [
        rows
          .slice(i, i + PIECE)
          .map((m) => [
            1,
            m.account_id,
            1,
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
          ]),
      ],
    );
  }
  const baselineSeconds = (performance.now() - baselineStarted) / 1_000;
  await database.query('DROP TABLE bench_transactions');
  await database.destroy();
  return [
    {
      name: 'imports, NDJSON, no webhooks',
      unit: 'rows/s',
      value: rowCount / seconds,
      baseline: { name: 'raw multi-row INSERTs on one connection', value: rowCount / baselineSeconds },
      wanted: { atLeast: 0.5 },
    },
  ];
}
