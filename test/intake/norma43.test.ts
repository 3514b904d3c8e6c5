import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createAccount, importDone } from '../support/movements.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

const TWO_ACCOUNTS = readFileSync(new URL('../samples/norma43/two-accounts.n43', import.meta.url));
const IBAN = 'ES4198760007510000123456';

/** The movements of the first account of the sample. */
const MT940 = [
  ':20:X',
  `:25:${IBAN}`,
  ':28C:3/1',
  ':60F:C260301EUR1000,00',
  ':61:2603020302C5000,00NTRFNONREF',
  ':86:TRANSFERENCIA',
  ':61:2602270303D120,50NDDTNONREF',
  ':86:ADEUDO',
  ':61:2603120310D92,15NMSCNONREF',
  ':86:TARJETA',
  ':61:2603310331D3,50NCHGNONREF',
  ':86:COMISION',
  ':62F:C260331EUR5783,85',
  '-',
  '',
].join('\r\n');

/** The same, in the headings of a bank's CSV, which names no account and no balance. */
const CSV = [
  'Date,Payee,Account number,Transaction type,Payment reference,Amount (EUR)',
  '2026-03-02,Panaderia,,Income,TRANSFERENCIA,5000.00',
  '2026-03-03,Electrica,,Direct Debit,ADEUDO,-120.50',
  '2026-03-10,Millstone,,Card,TARJETA,-92.15',
  '2026-03-31,Banco,,Fee,COMISION,-3.50',
  '',
].join('\n');

async function createClient() {
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key, { iban: IBAN, currency: 'EUR' });
  await createAccount(service, key, { iban: 'ES1998760007510000123464', currency: 'USD' });
  return {
    accountId: account.id,
    async send(body: string | Uint8Array, query = 'format=norma43') {
      const answer = await service.call('POST', `/v1/imports?${query}`, {
        key,
        body,
        type: 'application/octet-stream',
      });
      expect(answer.status).toBe(202);
      return importDone(service, key, answer.body.import.id);
    },
    async movements() {
      const { body } = await service.call('GET', '/v1/transactions?starts=2026-01-01', { key });
      return body.transactions;
    },
  };
}

it('a file of Norma 43 is stored, and sent again stores nothing', async () => {
  const { send, movements } = await createClient();
  expect(await send(TWO_ACCOUNTS)).toMatchObject({
    status: 'done',
    detected_format: 'norma43',
    inserted: 5,
    rejected: 0,
    warnings: 0,
    statements: 2,
  });
  expect(await send(TWO_ACCOUNTS, 'format=auto')).toMatchObject({ inserted: 0, duplicates: 5, rejected: 0 });
  const stored = await movements();
  expect(stored).toHaveLength(5);
  expect(stored).toContainEqual(
    expect.objectContaining({
      dc: 'Credit',
      amount: '5000.00',
      balance: '6000.00',
      date_issue: '2026-03-02',
      code: '02001',
      description: 'TRANSFERENCIA DE PANADERÍA NÚÑEZ FACTURA 14 DE MARZO',
    }),
  );
});

it.each([
  ['Norma 43, and then MT940', [TWO_ACCOUNTS, MT940], [5, 0]],
  ['MT940, and then Norma 43', [MT940, TWO_ACCOUNTS], [4, 1]],
])('the same month as %s is stored once', async (_, files, inserted) => {
  const { send, movements } = await createClient();
  for (const [at, file] of files.entries())
    expect(await send(file, 'format=auto')).toMatchObject({ inserted: inserted[at], rejected: 0 });
  expect(await movements()).toHaveLength(5);
});

it.each([
  ['Norma 43, and then CSV', [TWO_ACCOUNTS, CSV], [5, 0]],
  ['CSV, and then Norma 43', [CSV, TWO_ACCOUNTS], [4, 1]],
])('the same month as %s is stored once', async (_, files, inserted) => {
  const { accountId, send, movements } = await createClient();
  for (const [at, file] of files.entries()) {
    const query = file === CSV ? `format=csv&account_id=${accountId}` : 'format=auto';
    expect(await send(file, query)).toMatchObject({ inserted: inserted[at], rejected: 0 });
  }
  expect(await movements()).toHaveLength(5);
});

it('an account of Norma 43 is found by its number alone', async () => {
  const { api_key: key } = await service.customer();
  await createAccount(service, key, { number: '5000123456', currency: 'EUR' });
  const sent = await service.call('POST', '/v1/imports', {
    key,
    body: Buffer.from(TWO_ACCOUNTS.toString('latin1').replaceAll('0000123456', '5000123456'), 'latin1'),
    type: 'application/octet-stream',
  });
  expect(await importDone(service, key, sent.body.import.id)).toMatchObject({ inserted: 4, rejected: 1 });
});

it.each([true, false])(
  'the encoding of the account decides how a file of Norma 43 is read, whether the sender names the account: %s',
  async (isNamed) => {
    const { api_key: key } = await service.customer();
    const { id } = await createAccount(service, key, { iban: IBAN, currency: 'EUR' });
    await service.call('PATCH', `/v1/accounts/${id}`, { key, body: { encoding: 'windows-1250' } });
    const [first = ''] = TWO_ACCOUNTS.toString('latin1').split(/(?<=^33.*\r?\n)/m);
    // 0xB3 is "ł" in Windows-1250 and "³" in ISO-8859-1.
    const body = Buffer.from(first.replace('TRANSFERENCIA', 'TRANSFER\u00b3NCIA'), 'latin1');
    const sent = await service.call('POST', `/v1/imports${isNamed ? `?account_id=${id}` : ''}`, {
      key,
      body,
      type: 'application/octet-stream',
    });
    expect(await importDone(service, key, sent.body.import.id)).toMatchObject({ inserted: 4, rejected: 0 });
    const listing = await service.call('GET', '/v1/transactions?starts=2026-01-01', { key });
    expect(JSON.stringify(listing.body)).toContain('TRANSFERłNCIA');
  },
);
