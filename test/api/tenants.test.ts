import { beforeAll, describe, expect, it } from 'vitest';
import type { NewCustomer } from '../../src/customers/customers.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';

// tenants.property.test.ts checks that they see and change nothing of each other. Here they do the same things.
const service = useService({ roles: ['api', 'importer'] });

describe('two customers', () => {
  let one: NewCustomer;
  let two: NewCustomer;

  beforeAll(async () => {
    [one, two] = [await service.customer('Bir'), await service.customer('İki')];
  });

  it('may store movements with the same unique_id', async () => {
    for (const { api_key } of [one, two]) {
      const account = await createAccount(service, api_key);
      const same = movement(account.id, { unique_id: 'same' });
      expect(await importMovements(service, api_key, [same])).toMatchObject({ inserted: 1, duplicates: 0 });
    }
  });

  it('may use the same Idempotency-Key', async () => {
    const send = (key: string) =>
      service.call('POST', '/v1/imports', {
        key,
        body: { transactions: [] },
        headers: { 'Idempotency-Key': 'both' },
      });
    const [mine, theirs] = [await send(one.api_key), await send(two.api_key)];
    expect([mine.status, theirs.status]).toEqual([202, 202]);
    expect(mine.body.import.id).not.toBe(theirs.body.import.id);
  });
});
