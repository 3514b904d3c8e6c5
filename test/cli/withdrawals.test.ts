import { describe, expect, it } from 'vitest';
import { dayStatement } from '../support/day-statement.ts';
import { documentOf, reasonOf, runCli, runHere } from './command.ts';
import { useRunningService } from './running-service.ts';

const running = useRunningService();
const { asOperator, withKey, importMovements } = running;

const WITHDRAW = ['--reason', 'wrong file'];

/** Imports statements of a day in March of a new account. @returns their imports. */
async function importDays(...days: Parameters<typeof dayStatement>[]) {
  const { key, account } = await running.createCustomer();
  const imports = [];
  for (const day of days) {
    const args = ['import', '-', '--account', account, '--key', key, '--url', running.url, '--json'];
    imports.push(documentOf(await runCli(args, {}, { input: dayStatement(...day) })).import);
  }
  return imports;
}

describe.each(['as the operator', 'with an API key'])('%s', (access) => {
  const run = access === 'with an API key' ? withKey : asOperator;
  const who = () => (access === 'with an API key' ? [] : ['--customer', running.customer.id]);

  it('an import is withdrawn after a dry run, and the withdrawal is listed', async () => {
    const { id } = await importMovements(2);
    const dryRun = await run('imports', 'withdraw', String(id), ...WITHDRAW, '--dry-run');
    expect(dryRun).toMatchObject({ code: 0, stderr: '' });
    expect(dryRun.stdout).toMatch(
      /(\n +\d+ {2}withdrawn {2}.*){2}\n\nNothing was withdrawn\. It would be: 2 movements withdrawn, 0 kept; 0 statements withdrawn\.\n$/,
    );
    const { withdrawal } = documentOf(
      await run('imports', 'withdraw', String(id), ...WITHDRAW, '--wait', '--json'),
    );
    expect(withdrawal).toMatchObject({
      import_id: id,
      statement_id: null,
      status: 'done',
      withdrawn: 2,
      kept: 0,
      reason: 'wrong file',
    });
    const shown = await run('withdrawals', 'show', String(withdrawal.id));
    expect(shown.stdout).toMatch(/^status +done\nwithdrawn +2\nkept +0\nreason +wrong file$/m);
    const { withdrawals } = documentOf(await run('withdrawals', 'list', '--json', ...who()));
    expect(withdrawals).toContainEqual(withdrawal);
  });
});

it('a statement is withdrawn, and what contradicted it is complete', async () => {
  const [, replaced] = await importDays([5, 5, 500, [100, -17.29]], [5, 5, 500, [105, -17.29]]);
  const [statement] = replaced.contradicts;
  const withdraw = (...args: string[]) =>
    asOperator('statements', 'withdraw', String(statement), ...WITHDRAW, ...args);
  expect((await withdraw('--dry-run')).stdout).toMatch(
    /^ +\d+ +contradictory +complete\n\nNothing was withdrawn\. It would be: 2 movements withdrawn, 0 kept; 1 statement withdrawn\.$/m,
  );
  expect(documentOf(await withdraw('--wait', '--json')).withdrawal).toMatchObject({
    statement_id: statement,
    status: 'done',
    withdrawn: 2,
    kept: 0,
  });
  expect((await withdraw()).stdout).toMatch(/^status +done$/m);
});

it('on a terminal, it asks first', async () => {
  const { id } = await importMovements(1);
  const asked: string[] = [];
  const ask = async (question: string) => {
    asked.push(question);
    return false;
  };
  const args = ['imports', 'withdraw', String(id), ...WITHDRAW];
  expect(reasonOf(await runHere(args, running.environment, { ask }))).toBe('error: Nothing was done.');
  expect(asked).toEqual([`Withdraw import ${id}: 1 movement withdrawn, 0 kept?`]);
});

it('says what is missing', async () => {
  expect(reasonOf(await asOperator('statements', 'withdraw', '999', ...WITHDRAW))).toBe(
    'error: There is no statement of that id.',
  );
  expect((await asOperator('statements', 'withdraw', '1')).stderr).toContain('--reason <text>');
});
