import { expect, it } from 'vitest';
import { ACCOUNT_IBAN, dayReport, dayStatement } from '../support/day-statement.ts';
import { until } from '../support/until.ts';
import { documentOf, runCli } from './command.ts';
import { answering, useRunningService } from './running-service.ts';

const running = useRunningService();
const { asOperator, receiver } = running;

const verify = async (...args: string[]) => {
  const { code, stdout } = await asOperator('verify', '--customer', running.customer.id, ...args);
  return { code, lines: stdout.trimEnd().split('\n') };
};

async function send(body: string) {
  const answer = await fetch(`${running.url}/v1/imports`, {
    method: 'POST',
    headers: { Authentication: running.customer.key, 'Content-Type': 'application/octet-stream' },
    body,
  });
  const { import: accepted } = (await answer.json()) as { import: { id: number } };
  await until('the import is done', async () => {
    const { import: it } = documentOf(await asOperator('imports', 'show', String(accepted.id), '--json'));
    return it.status === 'done';
  });
}

it('verify says whether statements, movements and deliveries agree, and names what does not', async () => {
  const { account, id: customer } = running.customer;
  expect(await verify()).toEqual({
    code: 0,
    lines: [
      `Account ${account}, Ana: no statements with balances, so nothing to compare its movements with`,
      'The books are right: statements and movements agree.',
      'All deliveries are done.',
    ],
  });

  await asOperator('accounts', 'change', account, '--iban', ACCOUNT_IBAN);
  await send(dayStatement(1, 2, 100, [50]));
  await send(dayStatement(3, 4, 120, [1]));
  expect(await verify()).toEqual({
    code: 1,
    lines: [
      `Account ${account}, Ana: statements are missing`,
      '  gap, 2026-03-03 to 2026-03-03: -30.00 TRY between 150.00 and 120.00',
      'The books are not right.',
      'All deliveries are done.',
    ],
  });
  expect((await verify('--to', '2026-03-02')).code).toBe(0);
  await send(dayStatement(2, 3, 150, [-10, -20]));
  const complete = `Account ${account}, Ana: its statements are complete, and its movements give their balances`;
  expect(await verify()).toMatchObject({
    code: 0,
    lines: [complete, expect.any(String), expect.any(String)],
  });

  const { database } = running;
  await database.query('UPDATE transactions SET amount = 49 WHERE amount = 50');
  expect(await verify()).toMatchObject({
    code: 1,
    lines: [
      `Account ${account}, Ana: its movements do not give the balances of its statements`,
      '  2026-03-02 to 2026-03-04: the statements say 21.00 TRY, the movements give 20.00: -1.00',
      expect.any(String),
      expect.any(String),
    ],
  });
  // Retention has removed the movements of the first day.
  await database.query('DELETE FROM transactions WHERE amount = 49');
  await database.query("UPDATE import_locks SET removed_before = '2026-03-03' WHERE customer_id = ?", [
    customer,
  ]);
  expect((await verify()).code).toBe(0);

  receiver.answer('/verify', answering(500));
  const webhook = await running.createWebhook('/verify');
  // The fourth and the fifth day. A report has more entries of the fifth day, which no final statement has confirmed yet.
  const twoDays = dayStatement(3, 5, 120, [1, 7]).replace(/:(60F:C|61:)260305(?=TRY|C1,)/g, ':$1260304');
  await send(twoDays);
  await send(dayReport(5, [7, 99]));
  const report = await asOperator('verify', '--customer', customer, '--json');
  expect(JSON.parse(report.stdout)).toMatchObject({
    status: 'right',
    deliveries: 'pending',
    accounts: [
      { id: Number(account), completeness: 'complete', periods: [], wrong_sums: [], open_conflicts: 0 },
    ],
    pending: [{ webhook_id: Number(webhook), title: '/verify', pending: 2 }],
  });
  expect(report.code).toBe(0);
  const other = await verify('--account', account);
  expect(other.lines.slice(1)).toEqual([
    'The books are right: statements and movements agree.',
    `Webhook ${webhook}, /verify: 2 deliveries pending`,
    'Not all deliveries are done.',
  ]);
  expect((await verify('--account', '999')).code).not.toBe(0);
});

it('what is missing before a statement is told with its import, and the books are listed', async () => {
  const { id, key, account } = await running.createCustomer();
  await asOperator('accounts', 'change', account, '--iban', ACCOUNT_IBAN);
  const importFile = async (day: number, opening: number, amounts: number[]) => {
    const args = ['import', '-', '--format', 'mt940'];
    const env = { LEDGERBELL_API_KEY: key, LEDGERBELL_URL: running.url };
    return (await runCli(args, env, { input: dayStatement(day, day, opening, amounts) })).stdout;
  };
  expect(await importFile(2, 100, [50])).not.toContain('missing');
  expect(await importFile(5, 330, [1])).toContain(
    `A statement is missing before this one: 180.00 TRY of account ${account}, 2026-03-03 to 2026-03-04\n`,
  );
  const list = async (...args: string[]) => (await asOperator('accounts', ...args, account)).stdout;
  expect(await list('completeness')).toMatch(
    /^incomplete\n\n[\s\S]*2026-03-03 +2026-03-04 +gap +150\.00 +330\.00 +180\.00/,
  );
  expect(await list('statements')).toMatch(/2026-03-05 +330\.00 +331\.00 +TRY +1 +final/);
  expect(await list('balances')).toMatch(
    /^day +balance +currency +from\n2026-03-05 +331\.00 +TRY +statement \d+\n/,
  );
  // The missing file comes.
  expect(await importFile(4, 150, [180])).not.toContain('missing');
  const [newest] = documentOf(await asOperator('imports', 'list', '--customer', id, '--json')).imports;
  expect(
    documentOf(await asOperator('imports', 'show', String(newest.id - 1), '--json')).import.gaps,
  ).toEqual([]);
  expect(await list('completeness')).toMatch(/^complete\n/);
});

it('the books of many accounts, which come in pages, are one report, and wrong if one account is', async () => {
  const { id, account, key } = await running.createCustomer();
  await running.database.query(
    `INSERT INTO accounts (customer_id, bank_id, title, currency)
     SELECT a.customer_id, a.bank_id, CONCAT('Ek ', s.n), a.currency FROM accounts a
     JOIN (WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 45) SELECT n FROM s) s WHERE a.id = ?`,
    [account],
  );
  const env = { LEDGERBELL_API_KEY: key, LEDGERBELL_URL: running.url };
  const report = documentOf(await asOperator('verify', '--customer', id, '--json'));
  expect(Object.keys(report)).toEqual(['status', 'deliveries', 'accounts', 'pending']);
  expect(report).toMatchObject({ status: 'right', deliveries: 'done' });
  expect(report.accounts).toHaveLength(46);

  // The account of the first page.
  await asOperator('accounts', 'change', account, '--iban', ACCOUNT_IBAN);
  const args = ['import', '-', '--format', 'mt940'];
  await runCli(args, env, { input: dayStatement(2, 2, 100, [50]) });
  await running.database.query('DELETE FROM transactions WHERE account_id = ?', [account]);
  const wrong = await asOperator('verify', '--customer', id, '--json');
  expect({ code: wrong.code, ...JSON.parse(wrong.stdout) }).toMatchObject({ code: 1, status: 'wrong' });
});
