import fc from 'fast-check';
import { insertApiKey } from '../../src/customers/api-keys.ts';
import type { NewCustomer } from '../../src/customers/customers.ts';
import { createAccount, importDone, importMovements, movement } from './movements.ts';
import type { TestService } from './service.ts';
import { recordDeliveries } from './stored.ts';
import { deliveriesOf, webhook } from './webhooks.ts';

/** The things to create for a customer. */
export interface WorldPlan {
  /** Part of all its texts. */
  mark: string;
  accounts: number;
  /** At least this many for each account. */
  movements: number;
  /** Rows of a file that are rejected. */
  issues: number;
  /** In addition to one for all accounts, one for each account, one that is pulled, and one that was for all accounts and then for the first. */
  webhooks: { event: string; status: string; encoding: string }[];
  /** The status of the deliveries, repeated for all of them; pending ones were never attempted. */
  outcomes: ('pending' | 'delivered' | 'failed')[];
}

export const worldPlan = (mark: string): fc.Arbitrary<WorldPlan> =>
  fc.record({
    mark: fc.constant(mark),
    accounts: fc.integer({ min: 2, max: 3 }),
    movements: fc.integer({ min: 1, max: 3 }),
    issues: fc.integer({ min: 1, max: 3 }),
    webhooks: fc.array(
      fc.record({
        event: fc.constantFrom('NEW_TRANSACTION', 'NEW_DEBIT', 'NEW_CREDIT'),
        status: fc.constantFrom('active', 'paused', 'disabled'),
        encoding: fc.constantFrom('json', 'form'),
      }),
      { maxLength: 2 },
    ),
    outcomes: fc.array(fc.constantFrom('pending', 'delivered', 'failed'), {
      minLength: 1,
      maxLength: 5,
    }),
  });

/** Ids by the name of their collection in the API's paths. Deliveries are in the order of their webhooks. */
export type Objects = Record<
  | 'accounts'
  | 'banks'
  | 'webhooks'
  | 'transactions'
  | 'deliveries'
  | 'imports'
  | 'statements'
  | 'withdrawals'
  | 'conflicts'
  | 'apikeys'
  | 'replays'
  | 'sources',
  string[]
>;

/** The ids in a collection. @throws for a collection that is not created here. */
export function idsOf(objects: Objects, collection: string): string[] {
  const ids: string[] | undefined = (objects as Record<string, string[]>)[collection];
  if (ids === undefined) throw new Error(`test/support/world.ts makes no ${collection}: add it there`);
  return ids;
}

export interface World {
  customer: NewCustomer['customer'];
  /** Sees all accounts. */
  key: string;
  /** Sees only the first account. */
  limitedKey: string;
  /** All objects, and those that the limited key sees. */
  all: Objects;
  limited: Objects;
  /** The webhook that is pulled. Nothing of it is acknowledged. */
  feed: string;
  /** Texts that no other customer may ever read: keys, secrets and the mark. */
  secrets: string[];
}

/** Three days of an account. */
const ADD_STATEMENTS = `
  INSERT INTO statements (customer_id, account_id, import_id, line, format, kind, number, from_date, to_date, opening_balance,
    closing_balance, credits, debits, entries, fingerprint)
  SELECT ?, ?, 999999999, 1, 'mt940', 'final', ?, d.day, d.day, 1, 1, 0, 0, 0, UNHEX(LEFT(SHA2(d.day, 256), 32))
  FROM (SELECT '2026-01-01' AS day UNION ALL SELECT '2026-01-02' UNION ALL SELECT '2026-01-03') d`;

/** A statement of an account that was withdrawn, with one of its movements. */
const ADD_WITHDRAWN = [
  `INSERT INTO withdrawals (customer_id, import_id, statement_id, reason, status, withdrawn, finished_at)
   VALUES (?, 1, 1000000 + ?, ?, 'done', 1, NOW(6))`,
  `INSERT INTO withdrawn_statements (id, customer_id, account_id, import_id, line, format, kind, number, credits, debits, entries,
     received_at, withdrawal_id)
   SELECT statement_id, customer_id, ?, 1, 1, 'mt940', 'final', reason, 0, 0, 0, NOW(6), id FROM withdrawals
   WHERE customer_id = ? ORDER BY id DESC LIMIT 1`,
  `INSERT INTO withdrawn_transactions (event_id, id, customer_id, account_id, import_id, unique_id, name, dc, amount, description, date_issue,
     date_readed, withdrawal_id, withdrawn_at)
   SELECT 1000000000 + t.id, 2000000000 + t.id, t.customer_id, t.account_id, 1, t.unique_id, t.name, t.dc, t.amount, t.description, t.date_issue,
     t.date_readed, (SELECT MAX(id) FROM withdrawals WHERE customer_id = t.customer_id), NOW(6)
   FROM transactions t WHERE t.account_id = ? ORDER BY t.id LIMIT 1`,
] as const;

/** One of each webhook, for its account, and one for all accounts. Nothing of them is sent. */
const ADD_REPLAYS = `
  INSERT INTO replays (customer_id, webhook_id, statuses, account_ids, position, until_id)
  SELECT customer_id, id, 'failed', account_id, 0, 0 FROM webhooks WHERE customer_id = ?
  UNION ALL SELECT customer_id, id, 'failed', NULL, 0, 0 FROM webhooks WHERE id = ?`;

/**
 * Creates a customer with accounts, movements, webhooks, deliveries, attempts, imports, errors, keys and sources. Needs an importer, and
 * SOURCES_DIR. Nothing is collected: the sources are due at New Year.
 */
export async function createWorld(service: TestService, plan: WorldPlan): Promise<World> {
  const { database } = service.runtime;
  const { mark } = plan;
  const { customer, api_key: key, api_secret } = await service.customer(mark);
  const accounts: string[] = [];
  for (let i = 0; i < plan.accounts; i += 1) {
    accounts.push(
      (await createAccount(service, key, { title: `${mark} hesap ${i}`, bank: `${mark} Bank ${i}` })).id,
    );
  }
  const [first = ''] = accounts;
  const limited = await insertApiKey(database, {
    customerId: customer.id,
    title: `${mark} dar`,
    accountIds: [first],
  });

  const secrets = [mark, key, api_secret, limited.apikey];
  const subscribe = async (fields: object) => {
    const pushed = { endpoint: `http://127.0.0.1:9/${mark}`, headers: { 'x-mark': mark } };
    const body = {
      ...webhook({ title: mark, ...('delivery' in fields ? { endpoint: undefined } : pushed) }),
      ...fields,
    };
    const answer = await service.call('POST', '/v1/webhooks', { key, body });
    secrets.push(answer.body.webhook.secret);
    return String(answer.body.webhook.id);
  };
  for (const account of ['all', ...accounts]) await subscribe({ account });
  const feed = await subscribe({ account: 'all', delivery: 'pull' });
  const extra: string[] = [];
  for (const { event, encoding } of plan.webhooks) extra.push(await subscribe({ event, encoding }));
  const narrowed = await subscribe({ account: 'all' });

  const rows = accounts.flatMap((account) =>
    Array.from({ length: plan.movements }, (_, i) =>
      movement(account, {
        unique_id: `${mark} ${i}`,
        name: mark,
        code: mark,
        description: `${mark} ${i}`,
        opponent_id: ` ${mark}`,
        dc: i % 2 === 0 ? 'Debit' : 'Credit',
      }),
    ),
  );
  await importMovements(service, key, rows);
  await importMovements(service, limited.apikey, [movement(first, { unique_id: `${mark} dar` })]);
  const others = rows.map((row) => ({ ...row, amount: '7.07' }));
  await importMovements(service, key, others);
  // From now on it matches one account. Deliveries for the others are still pending.
  await service.call('PATCH', `/v1/webhooks/${narrowed}`, { key, body: { account: first } });
  for (const account of accounts) {
    await database.query(ADD_STATEMENTS, [customer.id, account, mark]);
    await database.query(ADD_WITHDRAWN[0], [customer.id, account, mark]);
    await database.query(ADD_WITHDRAWN[1], [account, customer.id]);
    await database.query(ADD_WITHDRAWN[2], [account]);
    await database.query(
      'INSERT INTO statement_checks (account_id, customer_id, due_at) VALUES (?, ?, NOW(6) + INTERVAL 1 YEAR)',
      [account, customer.id],
    );
    await database.query('INSERT INTO told_balances (account_id, customer_id) VALUES (?, ?)', [
      account,
      customer.id,
    ]);
  }
  const faulty = `${JSON.stringify({ [mark]: 1 })}\n`.repeat(plan.issues);
  const answer = await service.call('POST', '/v1/imports', {
    key,
    body: faulty,
    type: 'application/x-ndjson',
    headers: { 'Idempotency-Key': mark },
  });
  await importDone(service, key, answer.body.import.id);
  for (const [index, account_id] of [null, ...accounts].entries()) {
    const settings = { path: `${mark}/${index}` };
    const schedule = { cron: '0 0 1 1 *', time_zone: 'UTC' };
    const body = { title: mark, kind: 'folder', settings, schedule, account_id };
    const { status, body: said } = await service.call('POST', '/v1/sources', { key, body });
    if (status !== 200) throw new Error(`a source was refused: ${said.message}`);
  }
  await database.query(ADD_REPLAYS, [customer.id, narrowed]);
  const all = await findObjects(service, customer.id, accounts);
  const own = { ...(await findObjects(service, customer.id, [first])), apikeys: [limited.id] };
  await leaveTraces(service, customer.id, plan, { all, extra, feed });
  return { customer, key, limitedKey: limited.apikey, all, limited: own, feed, secrets };
}

/** Writes what delivery runs, operators and time would have left in these tables. */
async function leaveTraces(
  service: TestService,
  customerId: string,
  plan: WorldPlan,
  { all, extra, feed }: { all: Objects; extra: string[]; feed: string },
): Promise<void> {
  const { mark, outcomes } = plan;
  const { database } = service.runtime;
  let index = 0;
  for (const webhook of all.webhooks.filter((id) => id !== feed)) {
    const deliveries = (await deliveriesOf(service, webhook)).map(({ transaction_id }) => {
      const status = outcomes[index++ % outcomes.length] ?? 'pending';
      return { transactionId: transaction_id, status, error: mark, response: mark };
    });
    const firstPending = deliveries.findIndex(({ status }) => status === 'pending');
    const recorded = deliveries.filter(({ status }) => status !== 'pending');
    const sentThrough = deliveries.at(firstPending === -1 ? -1 : firstPending - 1)?.transactionId ?? '0';
    await recordDeliveries(database, { id: webhook, customerId }, recorded, {
      sentThrough: firstPending === 0 ? '0' : sentThrough,
    });
  }
  for (const [index, { status }] of plan.webhooks.entries()) {
    await database.query('UPDATE webhooks SET status = ?, status_reason = ? WHERE id = ?', [
      status,
      mark,
      extra[index],
    ]);
  }
  await database.query('UPDATE webhook_cursors SET last_error = ? WHERE webhook_id IN (?)', [
    mark,
    all.webhooks,
  ]);
  await database.query('UPDATE sources SET error = ? WHERE id IN (?)', [mark, all.sources]);
  await database.query(
    "INSERT INTO source_runs (source_id, customer_id, status, files, error) SELECT id, customer_id, 'done', 1, error FROM sources WHERE customer_id = ? ORDER BY id",
    [customerId],
  );
  await database.query(
    `INSERT INTO source_files (source_id, customer_id, run_id, fingerprint, name, version, import_id, outcome)
     SELECT source_id, customer_id, id, UNHEX(SHA2(id, 256)), ?, '1', ?, 'done' FROM source_runs WHERE customer_id = ?`,
    [mark, all.imports[0], customerId],
  );
  await database.query('UPDATE accounts SET error = ? WHERE id IN (?)', [mark, all.accounts]);
  await database.query('UPDATE imports SET error = ? WHERE id IN (?)', [mark, all.imports]);
}

/** The ids of a customer's objects. With only some of its accounts, those that a key limited to these accounts sees. */
async function findObjects(
  service: TestService,
  customerId: string,
  accountIds: readonly string[],
): Promise<Objects> {
  const { runtime } = service;
  const ids = async (sql: string, values: unknown[]) =>
    (await runtime.database.query<{ id: string }[]>(sql, values)).map(({ id }) => id);
  const [{ accounts: total } = { accounts: '0' }] = await runtime.database.query<{ accounts: string }[]>(
    'SELECT COUNT(*) AS accounts FROM accounts WHERE customer_id = ?',
    [customerId],
  );
  const whole = Number(total) === accountIds.length ? 1 : 0;
  const webhooks = await ids(
    'SELECT id FROM webhooks WHERE customer_id = ? AND (? OR account_id IN (?)) ORDER BY id',
    [customerId, whole, accountIds],
  );
  const movements = new Set(
    await ids('SELECT id FROM transactions WHERE customer_id = ? AND account_id IN (?)', [
      customerId,
      accountIds,
    ]),
  );
  const deliveries: string[] = [];
  for (const webhook of webhooks) {
    for (const { id, transaction_id } of await deliveriesOf(service, webhook))
      if (movements.has(transaction_id)) deliveries.push(id);
  }
  return {
    accounts: [...accountIds],
    banks: await ids('SELECT id FROM banks WHERE customer_id = ? ORDER BY id', [customerId]),
    webhooks,
    transactions: [...movements],
    deliveries,
    imports: await ids(
      `SELECT i.id FROM imports i JOIN api_keys k ON k.id = i.api_key_id
       WHERE i.customer_id = ? AND (? OR NOT k.all_accounts) ORDER BY i.id`,
      [customerId, whole],
    ),
    statements: await ids(
      'SELECT id FROM statements WHERE customer_id = ? AND account_id IN (?) ORDER BY id',
      [customerId, accountIds],
    ),
    withdrawals: await ids(
      `SELECT o.id FROM withdrawals o JOIN withdrawn_statements s ON s.withdrawal_id = o.id
       WHERE o.customer_id = ? AND s.account_id IN (?) ORDER BY o.id`,
      [customerId, accountIds],
    ),
    conflicts: await ids(
      'SELECT id FROM movement_conflicts WHERE customer_id = ? AND account_id IN (?) ORDER BY id',
      [customerId, accountIds],
    ),
    sources: await ids(
      "SELECT id FROM sources WHERE customer_id = ? AND status <> 'deleted' AND (? OR account_id IN (?)) ORDER BY id",
      [customerId, whole, accountIds],
    ),
    replays: await ids(
      'SELECT id FROM replays WHERE customer_id = ? AND (? OR account_ids IN (?)) ORDER BY id',
      [customerId, whole, accountIds],
    ),
    apikeys: await ids('SELECT id FROM api_keys WHERE customer_id = ? ORDER BY id', [customerId]),
  };
}
