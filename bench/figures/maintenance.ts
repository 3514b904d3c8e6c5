import { type Figure, type Scale, sized } from '../figure.ts';
import type { Installation } from '../installation.ts';
import { requireEqual } from '../load.ts';
import { startProcess } from '../processes.ts';

/** Customers, each with a webhook of its own. */
const CUSTOMERS = { smoke: 1_000, normal: 100_000, large: 1_000_000 };

/** Webhooks with something due, besides those that have nothing. */
const DUE = { smoke: 10, normal: 1_000 };

/** Rows per statement. */
const STEP = 10_000;
const DIGIT = Array.from({ length: 10 }, (_, n) => `SELECT ${n} AS n`).join(' UNION ALL ');
const NUMBERS = `(SELECT ? + a.n * 1000 + b.n * 100 + c.n * 10 + d.n AS n FROM (${DIGIT}) a, (${DIGIT}) b, (${DIGIT}) c, (${DIGIT}) d) i`;

/** Customers and webhooks have the same ids. They begin above those of an installation that is used otherwise. */
const FIRST_ID = 1_000_000;
const ROWS = `FROM ${NUMBERS} WHERE i.n < ?`;
const FILL = [
  `INSERT INTO customers (id, name, api_secret) SELECT ${FIRST_ID} + i.n, 'Müşteri', '-' ${ROWS}`,
  `INSERT INTO import_locks (customer_id, last_transaction_id, movements) SELECT ${FIRST_ID} + i.n, 1000, 1000 ${ROWS}`,
  `INSERT INTO webhooks (id, customer_id, title, endpoint, event, secret, encoding, hash_encoding, max_in_flight)
   SELECT ${FIRST_ID} + i.n, ${FIRST_ID} + i.n, 'Webhook', 'http://127.0.0.1:9/', 'NEW_TRANSACTION', REPEAT('s', 120), 'json', 'hex', 16 ${ROWS}`,
  `INSERT INTO webhook_filters (webhook_id, from_id, customer_id, event) SELECT ${FIRST_ID} + i.n, 0, ${FIRST_ID} + i.n, 'NEW_TRANSACTION' ${ROWS}`,
  `INSERT INTO webhook_backlogs (webhook_id, customer_id, matched_through, matched_count, due_at)
   SELECT ${FIRST_ID} + i.n, ${FIRST_ID} + i.n, 1000, 1000, NULL ${ROWS}`,
  `INSERT INTO webhook_cursors (webhook_id, customer_id, sent_through, highest_recorded_id, delivered_count)
   SELECT ${FIRST_ID} + i.n, ${FIRST_ID} + i.n, 1000, 1000, 1000 ${ROWS}`,
];

/** Makes these webhooks due. A lease that somebody else holds keeps the installation's own processes from sending. */
const MAKE_DUE = `
  UPDATE webhook_backlogs b JOIN webhook_cursors c ON c.webhook_id = b.webhook_id
  SET b.matched_through = 1001, b.matched_count = 1001, b.due_at = NOW(6)
  WHERE b.webhook_id BETWEEN ${FIRST_ID} AND ${FIRST_ID} + ? - 1`;

/**
 * One pass of what maintenance repeats, with many customers and webhooks of which a thousand have something due: its time, and the memory
 * that it adds. Webhooks with nothing due should cost nothing.
 */
export const maintenance: Figure = {
  about: 'a pass of maintenance with 100,000 customers and webhooks, of which 1,000 have something due',
  async prepare(scale: Scale, start) {
    const installation = await start({});
    // They would work on the same rows.
    for (const role of ['maintenance', 'delivery 1']) process.kill(installation.pids[role] ?? 0, 'SIGSTOP');
    const customers = sized(scale, CUSTOMERS);
    const due = sized(scale, DUE);
    await fill(installation, customers);
    await installation.runtime.database.query(MAKE_DUE, [due]);
    return {
      server: installation.server,
      async round() {
        const pass = await passOnce(installation);
        requireEqual({ expected: due, 'webhooks with something due': pass.jobs });
        const name = `${customers.toLocaleString('en')} customers and webhooks`;
        return [
          {
            name: `a pass of maintenance, ${name}`,
            unit: 'ms',
            value: pass.milliseconds,
            wanted: { atMost: 200 },
          },
          {
            name: `memory of a pass of maintenance, ${name}`,
            unit: 'MB above the process at rest',
            value: pass.megabytes,
            wanted: { atMost: 20 },
          },
        ];
      },
      async end() {
        for (const role of ['maintenance', 'delivery 1'])
          process.kill(installation.pids[role] ?? 0, 'SIGCONT');
        await installation.end();
      },
    };
  },
};

async function fill({ runtime: { database } }: Installation, customers: number): Promise<void> {
  for (let from = 0; from < customers; from += STEP)
    for (const statement of FILL) await database.query(statement, [from, customers]);
  await database.query(
    'ANALYZE TABLE customers, import_locks, webhooks, webhook_filters, webhook_backlogs, webhook_cursors',
  );
}

async function passOnce({
  databaseUrl,
}: Installation): Promise<{ milliseconds: number; megabytes: number; jobs: number }> {
  const maintainer = startProcess('./maintenance-process.js');
  maintainer.send({ databaseUrl });
  const pass = await maintainer.receive<{ milliseconds: number; megabytes: number; jobs: number }>();
  await maintainer.end();
  return pass;
}
