import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createAccount, importDone } from '../support/movements.ts';
import { useService } from '../support/service.ts';

/** A table without account numbers whose rows have several currencies: each currency is an account, which the sender names. */

const service = useService();

/** Two rows in EUR, three in USD of which one cannot be read, and one in GBP. The balances are those of each currency. */
const WISE = [
  'TransferWise ID,Date,Amount,Currency,Description,Running Balance',
  'T-1,02-03-2026,10.00,EUR,a,110.00',
  'T-2,02-03-2026,1.00,USD,b,51.00',
  'T-3,03-03-2026,2.00,USD,c,53.00',
  'T-4,03-03-2026,-5.00,EUR,d,105.00',
  'T-5,03-03-2026,3.00,GBP,e,3.00',
  'T-6,03-03-2026,wrong,USD,f,53.00',
  '',
].join('\n');

async function newCustomer() {
  const { api_key: key } = await service.customer();
  const create = async (currency: string) =>
    Number((await createAccount(service, key, { iban: undefined, number: `W-${currency}`, currency })).id);
  const ids = { EUR: await create('EUR'), USD: await create('USD') };
  const send = (query: string) =>
    service.call('POST', `/v1/imports?${query}`, {
      key,
      body: Buffer.from(WISE),
      type: 'application/octet-stream',
    });
  /** Sends the file as a dry run and as an import, and checks that both say the same. */
  async function sendBoth(query: string) {
    const { body: dry } = await send(`dry_run=true&${query}`);
    const ended = await importDone(service, key, (await send(query)).body.import.id);
    const { body } = await service.call('GET', `/v1/imports/${ended.id}/errors`, { key });
    const told = outcomeOf(ended, body);
    expect(told).toEqual(outcomeOf(dry.dry_run, dry));
    return told;
  }
  const stored = async (accountId: number): Promise<string> =>
    (await service.call('GET', '/v1/transactions?starts=2026-01-01', { key })).body.transactions
      .filter(({ account_id }: { account_id: unknown }) => String(account_id) === String(accountId))
      .map(({ description }: { description: string }) => description)
      .toSorted()
      .join('');
  return { ids, sendBoth, stored };
}

interface Message {
  line: number;
  message: string;
}

const outcomeOf = (
  { inserted, rejected }: { inserted: number; rejected: number },
  { errors, warnings }: { errors: Message[]; warnings: Message[] },
) => ({
  inserted,
  rejected,
  // The API lists them by lines, and a dry run as they come.
  errors: errors.toSorted((a, b) => a.line - b.line).map(({ line, message }) => `${line}: ${message}`),
  warnings: warnings.toSorted((a, b) => a.line - b.line).map(({ line, message }) => `${line}: ${message}`),
});

const WRONG = '7: "wrong" is not an amount. Allowed: digits, "." before the cents, a sign';

it('the rows in the currency of the account are stored, and the others are rejected as a whole', async () => {
  const { ids, sendBoth, stored } = await newCustomer();
  const problem = (currency: string, id: number, own: string) =>
    `the statement is in ${currency}, and account ${id} is kept in ${own}: send the file once more for your account in ${currency}`;
  expect(await sendBoth(`account_id=${ids.EUR}&force_account=true`)).toEqual({
    inserted: 2,
    rejected: 4,
    errors: [`3: ${problem('USD', ids.EUR, 'EUR')}`, `6: ${problem('GBP', ids.EUR, 'EUR')}`, WRONG],
    warnings: ['3: Not stored: 2 rows in USD.', '6: Not stored: 1 row in GBP.'],
  });
  expect(await stored(ids.EUR)).toBe('ad');
  expect(await sendBoth(`account_id=${ids.USD}`)).toEqual({
    inserted: 2,
    rejected: 4,
    errors: [`2: ${problem('EUR', ids.USD, 'USD')}`, `6: ${problem('GBP', ids.USD, 'USD')}`, WRONG],
    warnings: ['2: Not stored: 2 rows in EUR.', '6: Not stored: 1 row in GBP.'],
  });
  expect(await stored(ids.USD)).toBe('bc');
});

it('without an account, each currency says so, also where accounts may be created', async () => {
  const { sendBoth } = await newCustomer();
  const unnamed = (currency: string) =>
    `the statement does not say which account it is about, only that it is kept in ${currency}: send account_id with the file`;
  const { errors, ...told } = await sendBoth('unidentified=store');
  expect(told).toEqual({ inserted: 0, rejected: 6, warnings: [] });
  expect(errors).toEqual([`2: ${unnamed('EUR')}`, `3: ${unnamed('USD')}`, `6: ${unnamed('GBP')}`, WRONG]);
  const created = await sendBoth('create_accounts=true');
  expect(created.errors[0]).toBe(
    '2: the statement does not say the account’s number, which a new account needs, only its currency: create the account in EUR, and send account_id with the file',
  );
  expect(created).toMatchObject({ inserted: 0, rejected: 6 });
});

it('a file of UBS, whose rows say the currency of the IBAN above them, creates its account', async () => {
  const { api_key: key } = await service.customer();
  const accepted = await service.call('POST', '/v1/imports?create_accounts=true', {
    key,
    body: readFileSync(new URL('../samples/csv/ubs.csv', import.meta.url)),
    type: 'application/octet-stream',
  });
  expect(await importDone(service, key, accepted.body.import.id)).toMatchObject({ rejected: 0 });
  const { accounts } = (await service.call('GET', '/v1/accounts', { key })).body;
  expect(accounts).toMatchObject([{ iban: 'CH9300762011623852957', currency: 'CHF' }]);
});
