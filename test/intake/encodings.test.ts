import { describe, expect, it } from 'vitest';
import { createAccount } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createStatementCustomer } from './statement-files.ts';

const service = useService({ roles: ['api'] });

const IBAN = 'TR330006100519786457841326';
/** "bé" in CP850 and CP852 is "b‚" in Windows-1254. */
const file = (account: string, special: number) =>
  Buffer.concat([
    Buffer.from(
      `:20:A\r\n:25:${account}\r\n:28C:1/1\r\n:60F:C260302TRY1,\r\n:61:2603020302C1,00NTRFNONREF\r\n:86:b`,
    ),
    Buffer.from([special]),
    Buffer.from('\r\n:62F:C260302TRY2,\r\n-\r\n'),
  ]);

async function descriptionsOf(key: string): Promise<string[]> {
  const { body } = await service.call('GET', '/v1/transactions?starts=2026-01-01', { key });
  return body.transactions.map(({ description }: { description: string }) => description);
}

describe('the encoding of an account', () => {
  it.each([
    ['ibm850', 0x82, 'bé'],
    ['windows-1250', 0xb3, 'bł'],
    ['windows-1251', 0xe6, 'bж'],
  ])(
    'decides how files about the account are read, whether the sender names the account or not: %s',
    async (encoding, byte, text) => {
      for (const names of [true, false]) {
        const customer = await createStatementCustomer(service);
        const { key, accountId } = customer;
        const changed = await service.call('PATCH', `/v1/accounts/${accountId}`, { key, body: { encoding } });
        expect(changed).toMatchObject({ status: 200, body: { account: { encoding } } });
        const done = await customer.importFile(file(IBAN, byte), names ? { account_id: accountId } : {});
        expect(done).toMatchObject({ inserted: 1, warnings: 0 });
        expect(await descriptionsOf(key)).toEqual([text]);
      }
    },
  );

  it('does not decide about a file that names another account', async () => {
    const customer = await createStatementCustomer(service);
    await createAccount(service, customer.key, { currency: 'TRY', number: '99887766' });
    await service.call('PATCH', `/v1/accounts/${customer.accountId}`, {
      key: customer.key,
      body: { encoding: 'windows-1251' },
    });
    await customer.importFile(file('99887766', 0xfe));
    expect(await descriptionsOf(customer.key)).toEqual(['bş']);
  });

  it('that is unknown is refused, and null removes it', async () => {
    const { key, accountId } = await createStatementCustomer(service);
    const change = (encoding: unknown) =>
      service.call('PATCH', `/v1/accounts/${accountId}`, { key, body: { encoding } });
    expect(await change('klingon')).toMatchObject({
      status: 422,
      body: { errors: [{ message: expect.stringContaining('windows-1250') }] },
    });
    await change('ibm852');
    expect(await change(null)).toMatchObject({ body: { account: { encoding: null } } });
  });

  it('is that of a dry run too', async () => {
    const { key, accountId } = await createStatementCustomer(service);
    await service.call('PATCH', `/v1/accounts/${accountId}`, { key, body: { encoding: 'ibm852' } });
    const { body } = await service.call('POST', `/v1/imports?dry_run=true&account_id=${accountId}`, {
      key,
      body: file(IBAN, 0x88),
      type: 'application/octet-stream',
    });
    expect(JSON.stringify(body)).toContain('bł');
  });
});

it('a source has an encoding, which its files are read in', async () => {
  const customer = await createStatementCustomer(service);
  const { key } = customer;
  await service.call('PATCH', `/v1/accounts/${customer.accountId}`, {
    key,
    body: { encoding: 'windows-1251' },
  });
  const settings = { path: 'inbox' };
  const { status, body } = await service.call('POST', '/v1/sources', {
    key,
    body: { title: 'S', kind: 'folder', settings, schedule: { every: '15m' }, encoding: 'ibm852' },
  });
  expect([status, body.source?.encoding]).toEqual([200, 'ibm852']);
  await customer.importFile(file(IBAN, 0x88), { source_id: String(body.source.id) });
  expect(await until('stored', async () => (await descriptionsOf(key))[0])).toBe('bł');
});
