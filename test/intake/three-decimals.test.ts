import { describe, expect, it } from 'vitest';
import { createAccount } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { createStatementCustomer } from './statement-files.ts';

const service = useService({ roles: ['api'] });

const CURRENCIES = ['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND'];
/** Its first amount would fit in two decimals, its second would not. */
const statement = (currency: string) =>
  [
    ':20:A',
    ':25:7700000125',
    ':28C:1/1',
    `:60F:C260302${currency}100,`,
    ':61:260302D1,25NTRFNONREF',
    ':61:260302D2,375NTRFNONREF',
  ]
    .concat(`:62F:C260302${currency}96,375`, '-', '')
    .join('\r\n');

describe('a statement in a currency with three decimals', () => {
  it.each(CURRENCIES)('fails with a sentence that says why, and stores nothing: %s', async (currency) => {
    for (const names of [true, false]) {
      const customer = await createStatementCustomer(service);
      const { id } = await createAccount(service, customer.key, { currency, number: '7700000125' });
      const done = await customer.importFile(statement(currency), names ? { account_id: id } : {});
      expect(done).toMatchObject({ status: 'failed', inserted: 0, received: 0 });
      expect(done.error).toContain(
        `line 2 is in ${currency}, which has 3 decimals: three decimals and more cannot be stored`,
      );
    }
  });

  it('costs no statement of another currency before it in the file, and is not stored itself', async () => {
    const customer = await createStatementCustomer(service);
    const files = statement('TRY').replace('2,375', '2,37').replace('96,375', '96,38') + statement('KWD');
    const done = await customer.importFile(files, { create_accounts: 1 });
    expect(done).toMatchObject({ status: 'failed', inserted: 2 });
    const stored = await service.runtime.database.query(
      'SELECT closing_balance FROM statements WHERE customer_id = ?',
      [customer.customerId],
    );
    expect(stored).toEqual([{ closing_balance: '96.38' }]);
  });
});
