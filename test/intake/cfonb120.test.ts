import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createAccount, importDone } from '../support/movements.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

const TWO_DAYS = readFileSync(new URL('../samples/cfonb120/two-days.cfo', import.meta.url));
const RIB = '30004008050001234567895';

/** The movements of the sample, as the same bank writes them into an MT940. */
const mt940 = (iban: string) =>
  [
    ':20:X',
    `:25:${iban}`,
    ':28C:3/1',
    ':60F:C260228EUR1000,00',
    ':61:2603020302C5000,00NTRFNONREF',
    ':86:VIREMENT',
    ':61:2603020302D120,50NDDTNONREF',
    ':86:PRELEVEMENT',
    ':61:2603050303D92,15NMSCNONREF',
    ':86:CARTE',
    ':61:2603020303C120,50NRTINONREF',
    ':86:REJET',
    ':62F:C260303EUR5907,85',
    '-',
    '',
  ].join('\r\n');

async function createClient(iban: string) {
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key, { iban, currency: 'EUR' });
  return {
    accountId: account.id,
    change: (body: object) => service.call('PATCH', `/v1/accounts/${account.id}`, { key, body }),
    async send(body: string | Uint8Array, format: string) {
      const answer = await service.call('POST', `/v1/imports?format=${format}`, {
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

/** The same number in France and in Monaco, with the check digits of each. */
const FRENCH = `FR76${RIB}`;
const MONEGASQUE = `MC58${RIB}`;

it.each([FRENCH, MONEGASQUE])(
  'a file of CFONB 120 is stored once in the account %s, however often it comes',
  async (iban) => {
    const client = await createClient(iban);
    expect(await client.send(TWO_DAYS, 'cfonb120')).toMatchObject({
      status: 'done',
      inserted: 4,
      rejected: 0,
    });
    expect(await client.send(TWO_DAYS, 'cfonb120')).toMatchObject({
      status: 'done',
      inserted: 0,
      duplicates: 4,
    });
    const movements = await client.movements();
    expect(movements).toHaveLength(4);
    expect(movements[0]).toMatchObject({
      account_id: Number(client.accountId),
      dc: 'Credit',
      amount: '5000.00',
      opponent_iban: `FR76${RIB}`,
      date_issue: '2026-03-02',
    });
  },
);

it.each([
  ['CFONB 120', 'MT940'],
  ['MT940', 'CFONB 120'],
])('the same days as %s and then as %s are stored once', async (first) => {
  const client = await createClient(FRENCH);
  const files = [
    [TWO_DAYS, 'cfonb120'],
    [mt940(FRENCH), 'mt940'],
  ] as const;
  for (const [file, format] of first === 'MT940' ? files.toReversed() : files) {
    expect(await client.send(file, format)).toMatchObject({ status: 'done', rejected: 0 });
    expect(await client.movements(), format).toHaveLength(4);
  }
});

it.each([FRENCH, MONEGASQUE])(
  'the encoding of the account %s decides how its letters are read',
  async (iban) => {
    const client = await createClient(iban);
    await client.change({ encoding: 'windows-1250' });
    // 0xB3 is "ł" in Windows-1250 and "³" in ISO-8859-1.
    const file = TWO_DAYS.toString('latin1').replace('MOULIN DES LILAS', 'MOU\u00b3IN DES LILAS');
    expect(await client.send(Buffer.from(file, 'latin1'), 'cfonb120')).toMatchObject({ inserted: 4 });
    expect(JSON.stringify(await client.movements())).toContain('MOUłIN DES LILAS');
  },
);
