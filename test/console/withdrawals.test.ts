import { expect, it } from 'vitest';
import { dayStatement } from '../support/day-statement.ts';
import { createAccount, importDone } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The pages that withdraw imports and statements. */

const service = useService({ roles: ['api', 'importer'] });

const textOf = async (path: string) => {
  const { body } = await service.callOps('GET', path, { headers: { Accept: 'text/html' } });
  return String(body)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
};

const post = (path: string, reason: string) =>
  service.callOps('POST', path, {
    body: new URLSearchParams({ reason }).toString(),
    type: 'application/x-www-form-urlencoded',
    headers: { Accept: 'text/html', Origin: service.opsUrl },
  });

/** A customer with two statements of one day, of which the second replaces the first. */
async function createContradiction() {
  const { api_key: key, customer } = await service.customer();
  const { id: accountId } = await createAccount(service, key, { iban: 'TR330006100519786457841326' });
  const imports: string[] = [];
  let statement = '';
  for (const entries of [
    [100, 3],
    [105, 3],
  ]) {
    const { body } = await service.call('POST', '/v1/imports', {
      key,
      body: dayStatement(5, 5, 500, entries),
      type: 'application/octet-stream',
    });
    const { id, contradicts } = await importDone(service, key, body.import.id);
    imports.push(String(id));
    statement = String(contradicts[0]);
  }
  const [newest] = await service.runtime.database.query<{ id: string }[]>(
    'SELECT id FROM statements WHERE import_id = ?',
    [imports[1]],
  );
  return { customerId: customer.id, accountId, imports, statement, replacement: newest?.id };
}

it('the pages of the account and of the import lead to a statement, which is withdrawn with a reason', async () => {
  const { customerId, accountId, imports, statement, replacement } = await createContradiction();
  const path = `/ops/statements/${statement}/withdraw`;
  const ofAccount = `/ops/books/accounts/${accountId}`;
  expect(await textOf(ofAccount)).toMatch(
    new RegExp(
      `If one replaces the other .* Withdraw (${statement} Withdraw ${replacement}|${replacement} Withdraw ${statement}) `,
    ),
  );
  expect(await textOf(`/ops/imports/${imports[1]}`)).toContain(
    `A statement of it contradicts statement ${statement}. If it replaces it, withdraw statement ${statement} .`,
  );

  const plan = await textOf(path);
  expect(plan).toContain('2 movements leave the listings.');
  expect(plan).toContain('1 statement does not count any more.');
  expect(plan).toContain(`${accountId} contradictory complete`);
  expect(plan).toContain('Withdraw 2 movements');

  const refused = await post(path, '');
  expect(refused.status).toBe(422);
  expect(String(refused.body)).toContain('class="mistake"');

  const { status, headers } = await post(path, 'the bank has corrected it');
  expect([status, headers.get('location')]).toEqual([303, `${path}?done=withdraw`]);
  await until('the withdrawal is done', async () =>
    / done 2 0 the bank has corrected it /.test(await textOf(path)),
  );
  for (const page of [`/ops/imports/${imports[0]}`, `/ops/customers/${customerId}`])
    expect(await textOf(page)).toContain(`statement ${statement} of import ${imports[0]} done 2 0 the bank`);
  expect(await textOf(ofAccount)).not.toContain('If one replaces the other');
  expect(await textOf(`/ops/imports/${imports[1]}`)).not.toContain('A statement of it contradicts');
});

it('an import is withdrawn once', async () => {
  const { imports } = await createContradiction();
  const path = `/ops/imports/${imports[1]}`;
  expect((await post(`${path}/withdraw`, 'wrong file')).status).toBe(303);
  await until('the withdrawal is done', async () => / done 2 0 wrong file /.test(await textOf(path)));
  const withdrawn = await textOf(`${path}/withdraw`);
  expect(withdrawn).toContain(`Withdrawal of import ${imports[1]} of`);
  expect(withdrawn).not.toContain('Reason Withdraw');
});

it.each(['/ops/imports/999/withdraw', '/ops/statements/999/withdraw'])('%s is not found', async (path) => {
  expect((await service.callOps('GET', path)).status).toBe(404);
});

it('a movement that was withdrawn is found by its id and by the id of its withdrawal, and says why', async () => {
  const { imports } = await createContradiction();
  const { database } = service.runtime;
  const [movement] = await database.query<{ id: string; customer_id: string }[]>(
    'SELECT id, customer_id FROM transactions WHERE import_id = ? ORDER BY id LIMIT 1',
    [imports[0]],
  );
  await post(`/ops/imports/${imports[0]}/withdraw`, 'The bank has replaced it');
  await until('a withdrawn movement', async () =>
    (await textOf(`/ops/trace?movement=${movement?.id}`)).includes('The bank has replaced it'),
  );
  const { status, headers, body } = await service.callOps('GET', `/ops/trace?q=${movement?.id}`);
  expect(status === 302 ? headers.get('location') : String(body)).toContain(
    `/ops/trace?movement=${movement?.id}`,
  );
});
