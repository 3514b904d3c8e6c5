import { expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { documentOf, reasonOf } from './command.ts';
import { useRunningService } from './running-service.ts';

const running = useRunningService();
const { asOperator, withKey, createCustomer, importMovements } = running;

it('an account is deleted by the operator or with an API key, and status shows it until it is gone', async () => {
  await importMovements(3);
  const args = [
    '--bank',
    'Ziraat',
    '--title',
    'Gidecek',
    '--currency',
    'TRY',
    '--json',
    '--customer',
    running.customer.id,
  ];
  for (const run of [asOperator, withKey]) {
    const { account } = documentOf(await asOperator('accounts', 'create', ...args));
    const id = String(account.id);
    const answer = documentOf(await run('accounts', 'delete', id, '--yes', '--json'));
    expect(answer.account).toMatchObject({ id: account.id, status: 'deleting' });
    await until('no deletion', async () => {
      const { deletions } = documentOf(await asOperator('status', '--json'));
      return deletions.length === 0;
    });
    expect(reasonOf(await run('accounts', 'delete', id, '--yes'))).toMatch(
      /There is no account of that id|does not exist/,
    );
  }
  const { accounts } = documentOf(await withKey('accounts', 'list', '--json'));
  expect(accounts.map(({ id }: { id: number }) => String(id))).toEqual([running.customer.account]);
});

it('a customer is deleted, and its key is unknown afterwards', async () => {
  const { id } = await createCustomer();
  const said = await asOperator('customers', 'delete', id, '--yes');
  expect(said.code).toBe(0);
  expect(said.stdout).toContain(`Customer ${id} is being deleted.`);
  const ids = async () =>
    documentOf(await asOperator('customers', 'list', '--json')).customers.map((it: { id: number }) =>
      String(it.id),
    );
  await until('no such customer', async () => !(await ids()).includes(id));
  expect(await ids()).toContain(running.customer.id);
  expect(reasonOf(await asOperator('customers', 'delete', id, '--yes'))).toMatch(
    /There is no customer of that id/,
  );
});
