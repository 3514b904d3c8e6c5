import { expect, it } from 'vitest';
import { readAll, uniqueIds } from '../support/listing.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

/** Under some collation, each of these equals another of them. */
const NEAR = [
  'a',
  'a ',
  ' a',
  'A',
  'á',
  'a\u0301',
  'á ',
  'ı',
  'i',
  'İ',
  'I',
  'ş',
  's',
  'ß',
  'ss',
  '🙂',
  '🙃',
  'a\0',
  '1',
  '01',
  '１',
];

it('an import compares unique ids byte by byte, and recognises each of them when it is sent again', async () => {
  const { api_key: key } = await service.customer();
  const { id } = await createAccount(service, key);
  const rows = NEAR.map((unique_id) => movement(id, { unique_id }));
  expect(await importMovements(service, key, rows)).toMatchObject({ inserted: NEAR.length, duplicates: 0 });
  expect(await importMovements(service, key, rows)).toMatchObject({ inserted: 0, duplicates: NEAR.length });
  expect(uniqueIds(await readAll(service, key, '/v1/transactions?starts=2000-01-01'))).toEqual(NEAR);
});

it('an import keeps the first of two movements with the same id, within one import and across two', async () => {
  const { api_key: key } = await service.customer();
  const { id } = await createAccount(service, key);
  const row = (amount: string) => movement(id, { unique_id: 'x', amount });
  expect(await importMovements(service, key, [row('1'), row('2')])).toMatchObject({
    inserted: 1,
    conflicts: 1,
  });
  expect(await importMovements(service, key, [row('3')])).toMatchObject({ inserted: 0, conflicts: 1 });
  const { body } = await service.call('GET', '/v1/transactions?starts=2000-01-01', { key });
  expect(body.transactions).toEqual([expect.objectContaining({ unique_id: 'x', amount: '1.00' })]);
});

it('an import treats the same id in two accounts as two movements', async () => {
  const { api_key: key } = await service.customer();
  const [one, two] = [await createAccount(service, key), await createAccount(service, key)];
  const rows = [movement(one.id, { unique_id: 'x' }), movement(two.id, { unique_id: 'x' })];
  expect(await importMovements(service, key, rows)).toMatchObject({ inserted: 2, duplicates: 0 });
});

it('an import counts equal rows without an id, and stores none of them again', async () => {
  const { api_key: key } = await service.customer();
  const { id } = await createAccount(service, key);
  const file = [
    movement(id, { amount: '7', unique_id: null }),
    movement(id, { amount: '7.00', unique_id: ' ' }),
    movement(id, { amount: '8' }),
  ];
  expect(await importMovements(service, key, file)).toMatchObject({ inserted: 3, duplicates: 0 });
  expect(await importMovements(service, key, [...file].reverse())).toMatchObject({
    inserted: 0,
    duplicates: 3,
  });
  expect(await importMovements(service, key, [...file, ...file])).toMatchObject({
    inserted: 3,
    duplicates: 3,
  });
});
