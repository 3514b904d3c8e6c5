import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import type { CommandContext } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/program.ts';
import { useSourcesDir } from '../sources/folder-source.ts';
import { movement as exampleMovement } from '../support/movements.ts';
import { insertWithdrawnFile } from '../support/withdrawn-files.ts';
import { documentOf } from './command.ts';
import { useRunningService } from './running-service.ts';

const running = useRunningService({ SOURCES_DIR: useSourcesDir() });
const { asOperator } = running;

interface Event {
  source: string;
  actor: string;
  action: string;
  subject: string;
  detail: string;
}

const readEvents = () =>
  running.database.query<Event[]>(
    'SELECT source, actor, action, subject, detail FROM audit_events ORDER BY id',
  );

const BY = { source: 'command line', actor: userInfo().username };

it('a change by the command line is recorded with the name of the user', async () => {
  const webhook = await running.createWebhook('/audited');
  await asOperator('webhooks', 'pause', webhook);
  expect(await readEvents()).toEqual([
    { ...BY, action: 'create', subject: `customer ${running.customer.id}`, detail: 'Örnek' },
    { ...BY, action: 'create', subject: 'account 1', detail: 'Ana, TRY' },
    {
      ...BY,
      action: 'create',
      subject: `webhook ${webhook}`,
      detail: expect.stringMatching(/^NEW_TRANSACTION to /),
    },
    { ...BY, action: 'change', subject: `webhook ${webhook}`, detail: 'status: paused' },
  ]);
});

/** Commands that change no customer's data, or whose change is recorded in another way. */
const NO_CHANGES = [
  'accounts balances',
  'accounts completeness',
  'accounts list',
  'accounts statements',
  'banks list',
  'conflicts list',
  'completion',
  'customers list',
  'deliveries list',
  'deliveries show',
  // It has a database of its own.
  'demo',
  // An acknowledgement is no change of what the customer has. The webhook says when the last one was.
  'feed',
  'formats',
  // The import itself says who has sent what, and when.
  'import',
  'imports duplicates',
  'imports files',
  'imports errors',
  'imports list',
  'imports show',
  'keys list',
  'listen',
  // Tables, not what is in them. There may be no audit log yet.
  'migrate',
  'movements export',
  'movements list',
  'movements show',
  'operators tokens list',
  'replays list',
  'replays show',
  // Recorded if a secret is sealed with another key: see secrets-reseal.test.ts.
  'secrets reseal',
  'sources list',
  'sources runs',
  'sources show',
  'start',
  'status',
  'templates list',
  'templates show',
  'verify',
  'webhooks list',
  'webhooks show',
  // Nothing is stored.
  'webhooks test',
  'withdrawals list',
  'withdrawals show',
];

/** The objects that the commands name. */
interface Subjects {
  customer: string;
  account: string;
  webhook: string;
  delivery: string;
  import: string;
  conflict: string;
  key: string;
  replay: string;
  source: string;
  withdrawn: string;
  newestImport: string;
  statement: string;
  token: string;
}

const ANYTHING = ['--title', 'x', '--currency', 'TRY'];

/** All other commands with their recorded action, in an order in which all of them succeed. */
const CHANGES: [name: string, action: string, command: (it: Subjects) => string[]][] = [
  ['customers create', 'create', () => ['customers', 'create', '--name', 'Yeni']],
  [
    'accounts create',
    'create',
    ({ customer }) => ['accounts', 'create', '--customer', customer, '--bank', 'Ziraat', ...ANYTHING],
  ],
  ['accounts change', 'change', ({ account }) => ['accounts', 'change', account, '--title', 'x']],
  ['keys create', 'create', ({ customer }) => ['keys', 'create', '--customer', customer]],
  ['keys delete', 'delete', ({ key }) => ['keys', 'delete', key, '--yes']],
  [
    'webhooks create',
    'create',
    ({ customer }) => [
      ...['webhooks', 'create', '--customer', customer, '--title', 'x', '--event', 'NEW_DEBIT'],
      ...['--endpoint', running.receiver.url],
    ],
  ],
  ['webhooks change', 'change', ({ webhook }) => ['webhooks', 'change', webhook, '--title', 'Yeni']],
  ['webhooks pause', 'change', ({ webhook }) => ['webhooks', 'pause', webhook]],
  ['webhooks enable', 'change', ({ webhook }) => ['webhooks', 'enable', webhook]],
  ['webhooks rotate-secret', 'rotate secret', ({ webhook }) => ['webhooks', 'rotate-secret', webhook]],
  ['deliveries redeliver', 'redeliver', ({ delivery }) => ['deliveries', 'redeliver', delivery]],
  ['replay', 'replay', ({ webhook }) => ['replay', '--webhook', webhook, '--since', '2001-01-01']],
  ['replays cancel', 'cancel replay', ({ replay }) => ['replays', 'cancel', replay, '--yes']],
  ['imports retry', 'retry', (it) => ['imports', 'retry', it.import]],
  [
    'statements withdraw',
    'withdraw',
    (it) => ['statements', 'withdraw', it.statement, '--reason', 'x', '--yes'],
  ],
  [
    'imports withdraw',
    'withdraw',
    (it) => ['imports', 'withdraw', it.newestImport, '--reason', 'x', '--yes'],
  ],
  ['conflicts decide', 'ignore', ({ conflict }) => ['conflicts', 'decide', conflict, 'ignore']],
  [
    'sources create',
    'create',
    ({ customer }) => [
      ...['sources', 'create', '--customer', customer, '--title', 'x', '--kind', 'folder', '--path', 'x'],
    ],
  ],
  ['sources run', 'run', ({ source }) => ['sources', 'run', source]],
  [
    'sources collect-again',
    'collect again',
    (it) => ['sources', 'collect-again', it.source, '--import', it.withdrawn],
  ],
  ['sources pause', 'change', ({ source }) => ['sources', 'pause', source]],
  ['sources enable', 'change', ({ source }) => ['sources', 'enable', source]],
  ['sources delete', 'delete', ({ source }) => ['sources', 'delete', source, '--yes']],
  ['webhooks delete', 'delete', ({ webhook }) => ['webhooks', 'delete', webhook, '--yes']],
  ['accounts delete', 'delete', ({ account }) => ['accounts', 'delete', account, '--yes']],
  ['skip-ids', 'skip ids', () => ['skip-ids']],
  ['customers update', 'change', ({ customer }) => ['customers', 'update', customer, '--name', 'Eski']],
  [
    'operators tokens create',
    'create',
    () => ['operators', 'tokens', 'create', '--title', 'x', '--role', 'viewer'],
  ],
  ['operators tokens delete', 'delete', ({ token }) => ['operators', 'tokens', 'delete', token, '--yes']],
  ['customers delete', 'delete', ({ customer }) => ['customers', 'delete', customer, '--yes']],
];

it('every command is listed in this test, as recorded or as changing nothing', async () => {
  const { commands } = await createProgram({} as CommandContext);
  expect(commands.flatMap(namesOf).sort()).toEqual([...CHANGES.map(([name]) => name), ...NO_CHANGES].sort());
});

const namesOf = (command: Command): string[] =>
  command.commands.length === 0
    ? [command.name()]
    : command.commands.flatMap(namesOf).map((name) => `${command.name()} ${name}`);

it('every command that changes something is recorded once', async () => {
  const subjects = await createSubjects();
  for (const [, action, command] of CHANGES) {
    const args = command(subjects);
    const before = (await readEvents()).length;
    const { code, stderr } = await asOperator(...args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
    const events = (await readEvents()).slice(before);
    expect(events, args.join(' ')).toEqual([
      { ...BY, action, subject: expect.any(String), detail: expect.any(String) },
    ]);
  }
});

async function createSubjects(): Promise<Subjects> {
  const { id: customer, account } = running.customer;
  const create = async (...args: string[]) =>
    documentOf(await asOperator(...args, '--customer', customer, '--json'));
  const webhook = await running.createWebhook('/every');
  await running.importMovements(1);
  const [movement] = await running.database.query<{ id: string }[]>(
    'SELECT MAX(id) AS id FROM transactions WHERE account_id = ?',
    [account],
  );
  const at = ['--kind', 'folder', '--path', 'all', '--cron', '0 0 1 1 *'];
  const { source } = await create('sources', 'create', '--title', 'x', ...at);
  const { apikey } = await create('keys', 'create', '--title', 'x');
  const args = ['operators', 'tokens', 'create', '--title', 'y', '--role', 'viewer', '--json'];
  const { operator_token: token } = documentOf(await asOperator(...args));
  const newestImport = String((await running.importMovements(1)).id);
  return {
    customer,
    account,
    webhook,
    delivery: `${webhook}-${movement?.id}`,
    import: await insertFailedImport(customer),
    conflict: await insertConflict(String(movement?.id)),
    key: String(apikey.id),
    token: String(token.id),
    newestImport,
    statement: await insertStatement(account, newestImport),
    replay: await insertReplay(customer),
    source: String(source.id),
    withdrawn: await insertWithdrawnFile(running.database, String(source.id)),
  };
}

/** Of a webhook that is paused, so that the replay stays open. */
async function insertReplay(customer: string): Promise<string> {
  const webhook = await running.createWebhook('/replayed');
  await running.database.query("UPDATE webhooks SET status = 'paused' WHERE id = ?", [webhook]);
  const { insertId } = await running.database.query<{ insertId: number }>(
    "INSERT INTO replays (customer_id, webhook_id, statuses, position, until_id) VALUES (?, ?, 'failed', 0, 1)",
    [customer, webhook],
  );
  return String(insertId);
}

async function insertStatement(account: string, importId: string): Promise<string> {
  const { insertId } = await running.database.query<{ insertId: number }>(
    `INSERT INTO statements (customer_id, account_id, import_id, line, format, kind, number, credits, debits, entries,
       fingerprint)
     SELECT customer_id, id, ?, 1, 'mt940', 'final', '1', 0, 0, 0, UNHEX(REPEAT('00', 16)) FROM accounts WHERE id = ?`,
    [importId, account],
  );
  return String(insertId);
}

async function insertConflict(movement: string): Promise<string> {
  const { insertId } = await running.database.query<{ insertId: number }>(
    `INSERT INTO movement_conflicts (customer_id, account_id, transaction_id, dc, amount, date_issue, received, import_id, line)
     SELECT customer_id, account_id, id, dc, amount + 1, date_issue, ?, import_id, 1 FROM transactions WHERE id = ?`,
    [JSON.stringify(exampleMovement('1', { unique_id: 'x' })), movement],
  );
  return String(insertId);
}

async function insertFailedImport(customer: string): Promise<string> {
  const { insertId } = await running.database.query<{ insertId: number }>(
    `INSERT INTO imports (customer_id, api_key_id, format, status)
     SELECT customer_id, id, 'ndjson', 'failed' FROM api_keys WHERE customer_id = ? ORDER BY id LIMIT 1`,
    [customer],
  );
  await running.database.query('INSERT INTO import_parts VALUES (?, 0, ?)', [insertId, Buffer.from('')]);
  return String(insertId);
}
