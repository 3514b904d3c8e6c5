import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { fileOf, IBAN, movement } from '../statements/coda/records.ts';
import { createAccount, importDone } from '../support/movements.ts';
import { useService } from '../support/service.ts';

/** CODA through the service, and beside the same month as CAMT. */

const service = useService({ roles: ['api', 'importer'] });

async function createClient() {
  const { api_key: key } = await service.customer();
  await createAccount(service, key, { iban: IBAN, currency: 'EUR' });
  const get = async (path: string) => (await service.call('GET', path, { key })).body;
  return {
    async send(body: string, query = '') {
      const answer = await service.call('POST', `/v1/imports${query}`, {
        key,
        body: Buffer.from(body, 'latin1'),
        type: 'application/octet-stream',
      });
      expect(answer.status, JSON.stringify(answer.body)).toBe(202);
      return importDone(service, key, answer.body.import.id);
    },
    movements: async (): Promise<Record<string, unknown>[]> =>
      (await get('/v1/transactions?starts=2026-01-01&fields=extended')).transactions,
  };
}

const SAMPLE = readFileSync(new URL('../samples/coda/all-records.cod', import.meta.url), 'latin1');

it.each(['', '?format=coda'])('a CODA file stores each movement once, sent with %j', async (query) => {
  const { send, movements } = await createClient();
  expect(await send(SAMPLE, query)).toMatchObject({
    ...{ status: 'done', detected_format: 'coda', inserted: 8, duplicates: 0, rejected: 0, warnings: 0 },
  });
  expect(await send(SAMPLE, query)).toMatchObject({ inserted: 0, duplicates: 8, rejected: 0 });
  const stored = await movements();
  expect(stored).toHaveLength(8);
  expect(stored).toContainEqual(
    expect.objectContaining({
      amount: '121.00',
      name: 'NORTH FLOUR NV',
      extended: expect.objectContaining({
        creditor_reference: '+++123/4567/89002+++',
        end_to_end_id: 'E2E-0001',
        value_date: '2026-03-02',
      }),
    }),
  );
});

it('a third decimal in euros is a rejected row', async () => {
  const { send } = await createClient();
  const file = fileOf([movement(1_001n), movement(2_000n, { sequence: '0002', reference: 'REF2' })]);
  expect(await send(file)).toMatchObject({ inserted: 1, rejected: 1 });
});

type Booking = [reference: string, amount: number, details?: [reference: string, amount: number][]];

const coda = (bookings: readonly Booking[]): string =>
  fileOf(
    bookings.flatMap(([reference, amount, details = []], at) => {
      const sequence = String(at + 1).padStart(4, '0');
      return [
        movement(BigInt(amount * 1_000), {
          ...{ sequence, reference, code: details.length > 0 ? '10107000' : '00150000', text: reference },
        }),
        ...details.map(([part, share], index) =>
          movement(BigInt(share * 1_000), {
            ...{ sequence, detail: String(index + 1).padStart(4, '0'), reference: part },
            ...{ code: '50107000', text: part },
          }),
        ),
      ];
    }),
  );

function camt(bookings: readonly Booking[]): string {
  const money = (amount: number) => `<Amt Ccy="EUR">${Math.abs(amount).toFixed(2)}</Amt>`;
  const side = (amount: number) => `<CdtDbtInd>${amount < 0 ? 'DBIT' : 'CRDT'}</CdtDbtInd>`;
  const sum = bookings.reduce((total, [, amount]) => total + amount, 100);
  const balance = (code: string, amount: number, day: string) =>
    `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp>${money(amount)}${side(amount)}<Dt><Dt>${day}</Dt></Dt></Bal>`;
  const entries = bookings.map(
    ([reference, amount, details = []]) =>
      `<Ntry>${money(amount)}${side(amount)}<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-03-02</Dt></BookgDt><ValDt><Dt>2026-03-02</Dt></ValDt><AcctSvcrRef>${reference}</AcctSvcrRef><NtryDtls>${details
        .map(
          ([part, share]) =>
            `<TxDtls><Refs><AcctSvcrRef>${part}</AcctSvcrRef></Refs>${money(share)}${side(share)}<RmtInf><Ustrd>${part}</Ustrd></RmtInf></TxDtls>`,
        )
        .join('')}</NtryDtls><AddtlNtryInf>${reference}</AddtlNtryInf></Ntry>`,
  );
  return `<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>M</MsgId></GrpHdr><Stmt><Id>S</Id><Acct><Id><IBAN>${IBAN}</IBAN></Id><Ccy>EUR</Ccy></Acct>${balance('OPBD', 100, '2026-03-01')}${balance('CLBD', sum, '2026-03-02')}${entries.join('')}</Stmt></BkToCstmrStmt></Document>`;
}

const DETAILS: [string, number][] = [
  ['PART00001', -10],
  ['PART00002', -15],
];
const WITH_DETAILS: Booking[] = [
  ['WHOLE0001', -25, DETAILS],
  ['SINGLE001', 7],
];
const WITHOUT: Booking[] = [
  ['WHOLE0001', -25],
  ['SINGLE001', 7],
];

it.each([
  ['CODA, then CAMT', coda(WITH_DETAILS), camt(WITH_DETAILS), 3],
  ['CAMT, then CODA', camt(WITH_DETAILS), coda(WITH_DETAILS), 3],
  ['a batch in CODA, then its details in CAMT', coda(WITHOUT), camt(WITH_DETAILS), 2],
  ['a batch in CAMT, then its details in CODA', camt(WITHOUT), coda(WITH_DETAILS), 2],
  ['details in CODA, then their batch in CAMT', coda(WITH_DETAILS), camt(WITHOUT), 3],
  ['details in CAMT, then their batch in CODA', camt(WITH_DETAILS), coda(WITHOUT), 3],
])('the same days are stored once: %s', async (_, first, second, count) => {
  const { send, movements } = await createClient();
  expect(await send(first)).toMatchObject({ inserted: count, rejected: 0, warnings: 0 });
  expect(await send(second)).toMatchObject({ inserted: 0, rejected: 0, conflicts: 0 });
  expect(await movements()).toHaveLength(count);
});
