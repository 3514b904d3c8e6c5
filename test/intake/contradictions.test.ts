import { expect, it } from 'vitest';
import { dayStatement } from '../support/day-statement.ts';
import { useService } from '../support/service.ts';
import { createStatementCustomer } from './statement-files.ts';

const service = useService({ roles: ['api', 'importer'] });

it('an import names the stored statements that it contradicts', async () => {
  const { importFile } = await createStatementCustomer(service);
  const first = await importFile(dayStatement(5, 5, 500, [100, -17.29]));
  expect(first).toMatchObject({ contradicts: [], warnings: 0 });
  const [stored] = await service.runtime.database.query<{ id: string }[]>(
    'SELECT id FROM statements WHERE import_id = ?',
    [first.id],
  );
  const replaced = await importFile(dayStatement(5, 5, 500, [105, -17.29]));
  expect(replaced).toMatchObject({
    contradicts: [Number(stored?.id)],
    warnings: 1,
    first_warnings: [
      {
        line: expect.any(Number),
        message: `This statement contradicts statement ${stored?.id} of 2026-03-05: closing 582.71, now 587.71. If it replaces it, withdraw statement ${stored?.id}.`,
      },
    ],
  });
});

it('the same statement, a longer version of it, and the next one contradict nothing', async () => {
  const { importFile } = await createStatementCustomer(service);
  await importFile(dayStatement(5, 5, 500, [100, -17.29]));
  for (const file of [
    dayStatement(5, 5, 500, [100, -17.29]),
    dayStatement(5, 5, 500, [100, -17.29, 8]),
    dayStatement(6, 6, 590.71, [1]),
  ])
    expect(await importFile(file)).toMatchObject({ contradicts: [], warnings: 0 });
});
