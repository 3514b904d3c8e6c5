import { expect, it } from 'vitest';
import { createStatementFormats, type StatementFormats } from '../../packages/statements/src/formats.ts';
import { readFiles } from '../../packages/statements/src/read-files.ts';
import type { StatementEvent } from '../../packages/statements/src/statement.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { deleteMovements } from '../../src/movements/delete-movements.ts';
import { runDeletions } from '../../src/upkeep/deletions.ts';
import { requestAccountDeletion } from '../../src/upkeep/request-deletion.ts';
import { removeMovements } from '../../src/upkeep/retention/remove-movements.ts';
import { createSteps } from '../../src/upkeep/retention/steps.ts';
import { createAccount } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createStatementCustomer, mt940, type TestEntry } from './statement-files.ts';

// No importer role: the tests run the imports themselves.
const service = useService({ roles: ['api'] });

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);

const SECOND_IBAN = 'TR630006200000099000000101';

/** Amounts that occur nowhere else, on the second day. Together with the rows before them they exceed a chunk. */
const OTHERS: TestEntry[] = Array.from({ length: 1_100 }, (_, at) => ({ day: 2, amount: 1_000 + at }));

/** Reads files in two pieces: what comes after the 1,050th entry is read only when the first chunk is stored and `between` is over. */
function readInTwo(formats: StatementFormats): StatementFormats & { between: () => Promise<void> } {
  const halves: StatementFormats & { between: () => Promise<void> } = {
    ...formats,
    between: async () => {},
    parse: (...args: Parameters<StatementFormats['parse']>) => split(formats.parse(...args)),
    read: (...[parts, recognition]: Parameters<StatementFormats['read']>) =>
      readFiles(halves, parts, recognition),
  };
  async function* split(events: AsyncIterable<StatementEvent[]>): AsyncGenerator<StatementEvent[]> {
    let entries = 0;
    for await (const group of events) {
      for (const event of group) {
        if (event.type === 'entry') entries += 1;
        if (event.type === 'entry' && entries === 1_050) await halves.between();
        yield [event];
      }
    }
  }
  return halves;
}

/** A customer whose next import is interrupted once between its two chunks. */
async function createCustomer() {
  const formats = readInTwo(createStatementFormats([], READ_SETTINGS));
  const customer = await createStatementCustomer(service, formats);
  const { customerId } = customer;
  const newest = async () =>
    (
      await query<{ id: string }>(
        'SELECT last_transaction_id AS id FROM import_locks WHERE customer_id = ?',
        customerId,
      )
    )[0]?.id ?? '0';
  /** @param reading which reading of the file is interrupted. A file whose days already hold movements is read three times. */
  const interruptOnce = (work: () => Promise<unknown>, reading = 1) => {
    let readings = 0;
    formats.between = async () => {
      readings += 1;
      if (readings < reading) return;
      formats.between = async () => {};
      await until('the first chunk', async () => {
        const stored = await query(
          "SELECT 1 FROM imports WHERE customer_id = ? AND status = 'running' AND checkpoint = 1000",
          customerId,
        );
        return stored.length === 1;
      });
      await work();
    };
  };
  return { ...customer, newest, interruptOnce };
}

const TWO_ALIKE: TestEntry[] = [
  { day: 1, amount: 10 },
  { day: 1, amount: 10 },
];

it('movements that were removed between two chunks are no longer taken for known', async () => {
  const { customerId, importFile, interruptOnce } = await createCustomer();
  await importFile(mt940(TWO_ALIKE));
  const rows = await query<{ id: string }>(
    'SELECT id FROM transactions WHERE customer_id = ? ORDER BY id',
    customerId,
  );
  interruptOnce(
    () =>
      service.runtime.database.transaction(async (manager) => {
        const sql = { query: <T>(text: string, values?: unknown[]) => manager.query<T>(text, values) };
        await sql.query('UPDATE import_locks SET removals = removals + 1 WHERE customer_id = ?', [
          customerId,
        ]);
        await deleteMovements(
          sql,
          customerId,
          rows.map(({ id }) => id),
        );
      }),
    3,
  );
  const [first, second] = TWO_ALIKE as [TestEntry, TestEntry];
  // The first of the two is known when the first chunk is stored. The second entry is not known, because both were removed by then.
  const done = await importFile(mt940([first, ...OTHERS, second]));
  expect(done).toMatchObject({ status: 'done', inserted: OTHERS.length + 1, duplicates: 1, rejected: 0 });
});

it.each([
  ['a file that is read once', 1],
  ['a file whose days are known', 3],
])(
  "a movement that another import stores between two chunks is known, and the import's earlier movements stay its own: %s",
  async (_, reading) => {
    const { customerId, importFile, interruptOnce } = await createCustomer();
    const [first, second] = TWO_ALIKE as [TestEntry, TestEntry];
    if (reading === 3) await importFile(mt940([first]));
    const last = { day: 31, amount: 77 };
    const file = mt940([first, ...OTHERS, second, last]);
    const closing = 1_000 + [first, ...OTHERS, second].reduce((sum, { amount }) => sum + amount, 0);
    interruptOnce(() => importFile(mt940([last], { opening: closing })), reading);
    const known = reading === 3 ? 2 : 1;
    expect(await importFile(file)).toMatchObject({
      status: 'done',
      inserted: OTHERS.length + 3 - known,
      duplicates: known,
    });
    const [stored] = await query<{ movements: string | number }>(
      'SELECT COUNT(*) AS movements FROM transactions WHERE customer_id = ?',
      customerId,
    );
    expect(Number(stored?.movements)).toBe(OTHERS.length + 3);
  },
);

it('rows of a time that retention removes between two chunks are rejected, and not stored a second time', async () => {
  const { customerId, importFile, interruptOnce, newest, movements } = await createCustomer();
  await importFile(mt940(TWO_ALIKE));
  interruptOnce(
    async () =>
      removeMovements(service.runtime.database, createSteps({ pauses: false }), {
        customerId,
        through: BigInt(await newest()),
        issuedBefore: '2026-03-02',
      }),
    3,
  );
  const [first, second] = TWO_ALIKE as [TestEntry, TestEntry];
  const done = await importFile(mt940([first, ...OTHERS, second]));
  expect(done).toMatchObject({ status: 'done', inserted: OTHERS.length, duplicates: 1, rejected: 1 });
  expect(done.errors).toMatchObject([{ path: 'date_issue', message: expect.stringMatching('2026-03-02') }]);
  expect((await movements()).some(({ date_issue }) => date_issue === '2026-03-01')).toBe(false);
});

it('rows of an account whose deletion is requested between two chunks are rejected', async () => {
  const { key, customerId, accountId, importFile, interruptOnce } = await createCustomer();
  const second = await createAccount(service, key, { iban: SECOND_IBAN });
  interruptOnce(() =>
    requestAccountDeletion(
      service.runtime.database,
      { customerId, accountId: String(second.id) },
      async () => {},
    ),
  );
  const done = await importFile(mt940(OTHERS) + mt940(TWO_ALIKE, { account: SECOND_IBAN }));
  expect(done).toMatchObject({ status: 'done', inserted: OTHERS.length, duplicates: 0, rejected: 2 });
  const stored = await query<{ account_id: string }>(
    'SELECT DISTINCT account_id FROM transactions WHERE customer_id = ?',
    customerId,
  );
  expect(stored).toEqual([{ account_id: accountId }]);
});

it('an account that is deleted between two chunks does not end the import of a file from a source', async () => {
  const { key, customerId, accountId, importFile, interruptOnce } = await createCustomer();
  const second = await createAccount(service, key, { iban: SECOND_IBAN });
  const { insertId } = (await query(
    `INSERT INTO sources (customer_id, title, kind, settings, schedule, format, create_accounts)
     VALUES (?, 'Klasör', 'folder', '{}', '{}', 'auto', 0)`,
    customerId,
  )) as unknown as { insertId: string };
  interruptOnce(async () => {
    const about = { customerId, accountId: String(second.id) };
    await requestAccountDeletion(service.runtime.database, about, async () => {});
    await runDeletions(service.runtime, createSteps({ pauses: false }));
  });
  const file = mt940(OTHERS) + mt940(TWO_ALIKE, { account: SECOND_IBAN });
  const done = await importFile(file, { source_id: String(insertId) });
  expect(done).toMatchObject({ status: 'done', inserted: OTHERS.length, rejected: 2 });
  expect(await query('SELECT account_id FROM source_accounts WHERE source_id = ?', insertId)).toEqual([
    { account_id: accountId },
  ]);
});
