import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { balanceAfter, type Entry, renderCamt } from '../../durability/load/statements.ts';
import { rowsOf } from '../../reconcile/books.ts';
import { useOwnService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

/** The traps with real files, as a client sends them. Rows are written as in traps.test.ts. */

/** Banks whose rows end with the amount, or with the balance. A file may be cut off within that last value. */
const PROFILES_DIR = mkdtempSync(join(tmpdir(), 'identity-profiles-'));
for (const [name, columns] of [
  ['amount-last', { date: 'Datum', description: 'Text', amount: 'Betrag' }],
  ['balance-last', { date: 'Tag', description: 'Zweck', amount: 'Umsatz', balance: 'Saldo' }],
] as const)
  writeFileSync(
    join(PROFILES_DIR, `${name}.json`),
    JSON.stringify({
      ...{
        bank: 'Banka',
        source: 'this test',
        delimiter: ';',
        decimalSign: ',',
        dateFormats: ['DD.MM.YYYY'],
      },
      ...{ heading: Object.values(columns), columns },
    }),
  );
afterAll(() => rmSync(PROFILES_DIR, { recursive: true }));

const service = useOwnService({
  because: 'it has profiles',
  roles: ['api', 'importer'],
  config: { profilesDir: PROFILES_DIR },
});

const IBAN = 'TR330006100519786457841326';

interface Sent {
  number?: string;
  opening: number;
  rows: string;
}

const decimal = (cents: bigint) => `${cents / 100n},00`;
const sumOf = (rows: readonly { amount: bigint }[]) => rows.reduce((sum, { amount }) => sum + amount, 0n);
const abs = (amount: bigint) => (amount < 0n ? -amount : amount);
const short = (day: string) => day.slice(2).replaceAll('-', '');

/** @param page `:60M:` and `:62M:` are the balances of pages. */
function mt940({ number = '1', opening, rows: text }: Sent, page = false): string {
  const rows = rowsOf(text, opening);
  const mark = page ? 'M' : 'F';
  const balance = (tag: string, cents: bigint, day: string) =>
    `:${tag}${mark}:${cents < 0n ? 'D' : 'C'}${short(day)}TRY${decimal(abs(cents))}`;
  const cents = BigInt(opening) * 100n;
  return [
    ':20:X',
    `:25:${IBAN}`,
    `:28C:${number}`,
    balance('60', cents, rows[0]?.day ?? '2026-03-01'),
    ...rows.map(
      ({ day, amount, reference }) =>
        `:61:${short(day)}${short(day).slice(2)}${amount < 0n ? 'D' : 'C'}${decimal(abs(amount))}NTRFNONREF${reference === null ? '' : `//${reference}`}`,
    ),
    balance('62', cents + sumOf(rows), rows.at(-1)?.day ?? '2026-03-01'),
    '-',
    '',
  ].join('\r\n');
}

/** An interim report without balances. */
const mt942 = (text: string): string =>
  mt940({ opening: 0, rows: text })
    .replace(/:6[02]F:.*\r\n/g, '')
    .replace(':61:', ':34F:TRY0,\r\n:61:');

function camt({ number = '1', opening, rows: text }: Sent): string {
  const entries = rowsOf(text, opening).map(
    ({ day, amount, reference }): Entry => ({
      date: day,
      dc: amount < 0n ? 'Debit' : 'Credit',
      amount: Number(abs(amount)),
      reference: reference ?? '',
      description: 'POS',
    }),
  );
  const openedOn = entries[0]?.date ?? '2026-03-01';
  expect(balanceAfter(opening * 100, entries)).toBeDefined();
  return renderCamt({ number, iban: IBAN, opening: opening * 100, openedOn, entries }, true);
}

function csv(text: string): string {
  const lines = rowsOf(text).map(
    ({ day, amount, balance, text: words }) =>
      `${day.split('-').reverse().join('.')};${words || 'POS'};POS;${amount < 0n ? '-' : ''}${decimal(abs(amount))};${balance === null ? '' : decimal(balance)};`,
  );
  return ['Tarih;Açıklama;Etiket;Tutar;Bakiye;Dekont No', ...lines, ''].join('\r\n');
}

const json = (text: string, account: number, fields: object = {}): string =>
  JSON.stringify({
    transactions: rowsOf(text).map(({ day, amount, balance, text: words }) => ({
      account_id: account,
      dc: amount < 0n ? 'Debit' : 'Credit',
      amount: (Number(abs(amount)) / 100).toFixed(2),
      balance: balance === null ? null : (Number(balance) / 100).toFixed(2),
      description: words || 'POS',
      date_issue: day,
      ...fields,
    })),
  });

async function createClient(settings: object = {}) {
  const { api_key: key, customer } = await service.customer();
  const { body } = await service.call('POST', '/v1/accounts', {
    key,
    body: { bank: 'Banka', title: 'Hesap', currency: 'TRY', iban: IBAN, ...settings },
  });
  const account = body.account.id as number;
  const get = async (path: string) => (await service.call('GET', path, { key })).body;
  const post = (file: string | Uint8Array, query: string) =>
    service.call('POST', `/v1/imports?${query}`, {
      key,
      body: file as string,
      type:
        typeof file === 'string' && file.startsWith('{') ? 'application/json' : 'application/octet-stream',
    });
  const withAccount = (file: string | Uint8Array) =>
    typeof file !== 'string' || /^(Tarih|Datum|Tag)/.test(file) ? `account_id=${account}` : '';
  return {
    account,
    customerId: String(customer.id),
    get,
    /** @returns the import when it has ended. */
    async send(file: string | Uint8Array) {
      const { status, body: accepted } = await post(file, withAccount(file));
      expect(status).toBe(202);
      let ended: Record<string, unknown> = {};
      await until('the import has ended', async () => {
        ended = (await get(`/v1/imports/${accepted.import.id}`)).import;
        return ended.status === 'done';
      });
      return ended;
    },
    dryRun: async (file: string | Uint8Array) =>
      (await post(file, `dry_run=true&${withAccount(file)}`)).body.dry_run,
    dryRows: async (file: string | Uint8Array) =>
      (await post(file, `dry_run=true&${withAccount(file)}`)).body.transactions,
    async movements(): Promise<string[]> {
      const { transactions } = await get('/v1/transactions?starts=2025-01-01');
      return transactions.map((it: Record<string, string>) => `${it.dc?.[0]}${Number(it.amount)}`).sort();
    },
    completeness: async () => (await get(`/v1/accounts/${account}/completeness`)).completeness,
  };
}

const COUNTS = ['inserted', 'duplicates', 'changed', 'assumed_duplicates', 'assumed_new', 'conflicts'];
const countsOf = (it: Record<string, unknown>) => Object.fromEntries(COUNTS.map((name) => [name, it[name]]));

/** What the account has when its books are right. */
const RIGHT = { status: 'complete', periods: [{ status: 'complete', missing: [], surplus: [] }] };

test.each([
  ['MT940', mt940],
  ['CAMT', camt],
])(
  '1: three equal entries of a day in three statements are all stored, in any order: %s',
  async (_, render) => {
    const files = [1000, 985, 970].map((opening, index) => ({
      number: String(index + 1),
      opening,
      rows: 'D15',
    }));
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [0, 2, 1],
    ]) {
      const { send, movements, completeness } = await createClient();
      for (const at of order) expect(await send(render(files[at] as Sent))).toMatchObject({ inserted: 1 });
      expect(await movements()).toEqual(['D15', 'D15', 'D15']);
      expect(await completeness()).toMatchObject(RIGHT);
    }
  },
);

test.each([
  ['MT940', mt940, mt940],
  ['CAMT', camt, camt],
  ['CAMT, then MT940', camt, mt940],
  ['MT942, then MT940', ({ rows }: Sent) => mt942(rows), mt940],
  ['CSV', () => csv('C10=1010 Metro'), () => csv('C5=1005 Shell, C10=1015 Metro')],
])(
  '2: an evening file repeats the entry of the noon file, even when its entries are renumbered: %s',
  async (_, noon, evening) => {
    const { send, movements } = await createClient();
    await send(noon({ number: '1', opening: 1000, rows: 'C10//1' }));
    expect(await send(evening({ number: '2', opening: 1000, rows: 'C5//1, C10//2' }))).toMatchObject({
      inserted: 1,
      duplicates: 1,
    });
    expect(await movements()).toEqual(['C10', 'C5']);
  },
);

test('3: a CSV row and the same row as JSON without an id are one movement, in either order', async () => {
  for (const isFileFirst of [true, false]) {
    const { account, send, movements } = await createClient();
    const files = [csv('D15=985 Metro'), json('D15=985 Metro', account)];
    for (const file of isFileFirst ? files : files.toReversed()) await send(file);
    expect(await movements()).toEqual(['D15']);
  }
});

test('4: overlapping windows of a day with printed balances bring each row once', async () => {
  const { send, movements } = await createClient();
  await send(csv('D15=985 METRO, D20=965 SHELL'));
  await send(csv('D20=965 SHELL, D15=950 METRO, D7=943 BIM'));
  await send(csv('D7=943 BIM, D15=928 METRO'));
  expect(await movements()).toEqual(['D15', 'D15', 'D15', 'D20', 'D7']);
});

test('5: statements whose entries cancel out are told apart by their numbers, unless the account ignores numbers', async () => {
  const files = ['1', '2', '3'].map((number) => mt940({ number, opening: 1000, rows: 'D10, C10' }));
  const { get, send, movements, completeness, dryRun } = await createClient();
  const imports = [];
  for (const file of files) {
    const expected = countsOf(await dryRun(file));
    imports.push(await send(file));
    expect(countsOf(imports.at(-1) ?? {})).toEqual(expected);
  }
  expect(imports).toMatchObject([{ assumed_new: 0 }, { assumed_new: 2 }, { assumed_new: 2 }]);
  expect(await movements()).toHaveLength(6);
  expect(await completeness()).toMatchObject(RIGHT);
  const { duplicates } = await get(`/v1/imports/${imports[1]?.id}/duplicates`);
  expect(duplicates).toMatchObject([{ reason: 'assumed_new' }, { reason: 'assumed_new' }]);

  const other = await createClient({ statement_numbers: 'ignore' });
  for (const file of files) await other.send(file);
  expect(await other.movements()).toEqual(['C10', 'D10']);
  expect(await other.completeness()).toMatchObject(RIGHT);
});

test('6: a dry run of JSON or NDJSON predicts the counts of the import that follows', async () => {
  const { account, send, dryRun } = await createClient({ on_conflict: 'store' });
  const rows = (...amounts: string[]) =>
    JSON.stringify({
      transactions: amounts.map((amount) => ({
        ...{ account_id: account, dc: 'Debit', amount, date_issue: '2026-03-01', unique_id: 'A' },
        ...{ code: null, balance: null, description: null, opponent_id: null, opponent_iban: null },
      })),
    });
  for (const file of [rows('1.00', '2.00', '2.00'), rows('1.00', '2.00', '3.00'), rows('2.00')]) {
    const expected = countsOf(await dryRun(file));
    expect(countsOf(await send(file))).toEqual(expected);
  }
});

test('7: equal entries in a file of more than 1,000 rows are told apart by their balances, as in a small file', async () => {
  const { send, movements } = await createClient();
  const rows = (opening: number, count: number) =>
    Array.from({ length: count }, (_, index) => `D1=${opening - index - 1} POS`).join(', ');
  await send(csv(rows(10_000, 1_500)));
  expect(await send(csv(rows(9_000, 1_200)))).toMatchObject({
    inserted: 700,
    duplicates: 500,
    assumed_duplicates: 0,
  });
  expect(await send(csv(rows(10_000, 2_200)))).toMatchObject({ inserted: 0, duplicates: 2_200 });
  expect((await movements()).length).toBeLessThanOrEqual(1_000);
});

test('8: a statement is matched as a whole, so an equal first entry alone does not make it known', async () => {
  const { send, movements, completeness } = await createClient();
  await send(mt940({ number: '1', opening: 1000, rows: 'D10, C10' }));
  await send(mt940({ number: '2', opening: 1000, rows: 'D10, D10' }));
  expect(await movements()).toEqual(['C10', 'D10', 'D10', 'D10']);
  expect(await send(camt({ opening: 1000, rows: 'D10, C10, D10, D10' }))).toMatchObject({ inserted: 0 });
  expect(await completeness()).toMatchObject(RIGHT);
});

test('9: pages with equal balances are told apart, a constant number proves nothing, and a month equals its days', async () => {
  const zero = { opening: 1000, rows: 'D10, C10' };
  const pages = await createClient();
  await pages.send(mt940({ ...zero, number: '3/1' }, true) + mt940({ ...zero, number: '3/2' }, true));
  expect(await pages.movements()).toHaveLength(4);

  const constant = await createClient();
  for (let time = 0; time < 2; time += 1) await constant.send(mt940({ ...zero, number: '1' }));
  expect(await constant.movements()).toHaveLength(2);

  const month = await createClient();
  await month.send(mt940({ number: '41', opening: 1000, rows: '01:D10, 01:C10' }));
  await month.send(mt940({ number: '42', opening: 1000, rows: '02:D10, 02:C10, 02:D5' }));
  const whole = { number: '3', opening: 1000, rows: '01:D10, 01:C10, 02:D10, 02:C10, 02:D5' };
  expect(await month.send(mt940(whole))).toMatchObject({ inserted: 0, duplicates: 5 });
  expect(await month.completeness()).toMatchObject(RIGHT);
});

test('10: a booking with another date in another format is known when its balances and a neighbour agree', async () => {
  const { send } = await createClient();
  await send(camt({ opening: 1000, rows: '01:D10, 01:D20' }));
  const file = mt940({ opening: 1000, rows: '01:D10, 03:D20' }).replace(/(:62F:C)260303/, '$1260301');
  expect(await send(file)).toMatchObject({ inserted: 0, duplicates: 2, changed: 1 });
});

test('11: a final statement absorbs the movements of interim reports without balances', async () => {
  const { send, movements, completeness } = await createClient();
  await send(mt942('D10'));
  await send(mt942('D10, C7'));
  expect(await send(mt940({ opening: 1000, rows: 'D10, D10, C7' }))).toMatchObject({
    inserted: 1,
    assumed_duplicates: 2,
  });
  expect(await movements()).toEqual(['C7', 'D10', 'D10']);
  expect(await completeness()).toMatchObject(RIGHT);
});

test('13: JSON balances that link with no other balance are not believed', async () => {
  for (const rows of ['D15=1000, D20=1000', 'D15=-15, D20=-35']) {
    const { account, send, movements } = await createClient();
    await send(json(rows, account));
    expect(await send(mt940({ opening: 1000, rows: 'D15, D20' }))).toMatchObject({ inserted: 0 });
    expect(await movements()).toEqual(['D15', 'D20']);
  }
});

test('14: an entry added on an earlier day shifts later balances, and a later window still matches', async () => {
  const { send, movements } = await createClient();
  await send(csv('01:D10=990, 02:D20=970, 02:D5=965, 03:C7=972, 04:D1=971'));
  expect(await send(csv('02:D5=865, 03:C7=872, 04:D1=871'))).toMatchObject({
    inserted: 0,
    changed: 3,
    warnings: 1,
  });
  const whole = csv('01:D10=990, 01:D100=890, 02:D20=870, 02:D5=865, 03:C7=872, 04:D1=871');
  expect(await send(whole)).toMatchObject({ inserted: 1, duplicates: 5 });
  expect(await movements()).toHaveLength(6);
});

test('15: a one-day CSV whose entries cancel out, newest first, has an opening balance only when other days give it', async () => {
  const { get, account, send } = await createClient();
  await send(csv('01:C10=1000, 01:D10=990'));
  await send(csv('03:C10=1000, 03:D10=990, 02:D5=1000'));
  const { statements } = await get(`/v1/accounts/${account}/statements`);
  expect(statements).toMatchObject([
    { opening_balance: '1005.00', closing_balance: '1000.00' },
    { opening_balance: null, closing_balance: null },
  ]);
});

test('a movement that was assumed known is stored and delivered when a statement shows that it is missing', async () => {
  const { get, send, movements, completeness } = await createClient();
  const [first, between, third] = [
    mt940({ number: '1', opening: 1000, rows: 'D10' }),
    mt940({ number: '2', opening: 990, rows: 'C10' }),
    mt940({ number: '3', opening: 1000, rows: 'D10' }),
  ];
  await send(first);
  const taken = await send(third);
  expect(taken).toMatchObject({ inserted: 0, duplicates: 1 });
  await send(between);
  const missing = { dc: 'Debit', amount: '10.00', import_id: taken.id };
  expect(await completeness()).toMatchObject({
    status: 'incomplete',
    periods: [{ missing: [missing], surplus: [] }],
  });
  expect(await send(third)).toMatchObject({ inserted: 1, duplicates: 0 });
  expect(await movements()).toEqual(['C10', 'D10', 'D10']);
  expect(await completeness()).toMatchObject(RIGHT);
  expect((await get('/v1/transactions?starts=2025-01-01')).transactions).toHaveLength(3);
});

const ofx = (
  rows: readonly (readonly [day: string, amount: string, id: string, name: string])[],
  [from, to] = ['01', '31'],
): string =>
  [
    'OFXHEADER:100',
    'DATA:OFXSGML',
    '',
    '<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>TRY<BANKACCTFROM><BANKID>0001',
    `<ACCTID>${IBAN}<ACCTTYPE>CHECKING</BANKACCTFROM><BANKTRANLIST><DTSTART>202603${from}<DTEND>202603${to}`,
    ...rows.map(
      ([day, amount, id, name]) =>
        `<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>202603${day}<TRNAMT>${amount}<FITID>${id}<NAME>${name}</STMTTRN>`,
    ),
    '</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>',
    '',
  ].join('\r\n');

test('the same id under another day is stored as an assumption, with a warning that names both days', async () => {
  const { get, send } = await createClient();
  await send(ofx([['02', '-15.00', '2026030200077', 'CAFE']]));
  const moved = await send(
    ofx(
      [
        ['03', '-15.00', '2026030200077', 'CAFE'],
        ['04', '-2.00', '2026030400001', 'BUS'],
      ],
      ['03', '31'],
    ),
  );
  expect(moved).toMatchObject({ inserted: 2, assumed_new: 1, warnings: 1 });
  const { warnings } = await get(`/v1/imports/${moved.id}/errors`);
  expect(warnings[0].message).toContain(
    'The entry of 2026-03-03 over -15.00 has the id “2026030200077” of a stored movement of 2026-03-02',
  );
});

test('the same id under another day is known, as an assumption, if both files have both days', async () => {
  const { send } = await createClient();
  await send(ofx([['02', '-15.00', '2026030200077', 'CAFE']]));
  const moved = await send(
    ofx([
      ['03', '-15.00', '2026030200077', 'CAFE'],
      ['04', '-2.00', '2026030400001', 'BUS'],
    ]),
  );
  expect(moved).toMatchObject({ inserted: 1, duplicates: 1, assumed_duplicates: 1, assumed_new: 0 });
});

test('a dry run and the import list the same assumptions, row for row', async () => {
  const { get, send, dryRows } = await createClient();
  await send(mt940({ number: '1', opening: 1000, rows: 'D10, C10' }));
  const next = mt940({ number: '2', opening: 1000, rows: 'D10, C10' });
  const transactions = await dryRows(next);
  const { id } = await send(next);
  const { duplicates } = await get(`/v1/imports/${id}/duplicates`);
  const listed = (rows: { line: number; reason: string | null }[]) =>
    rows.map(({ line, reason }) => [line, reason]);
  expect(listed(transactions)).toEqual(listed(duplicates));
  expect(transactions.map(({ reason }: { reason: string }) => reason)).toEqual([
    'assumed_new',
    'assumed_new',
  ]);
});

test('days whose entries have new ids are recognised', async () => {
  const { send, movements } = await createClient();
  const rows = [
    ['02', '-15.00', '202603020001', 'CAFE'],
    ['02', '-15.00', '202603020002', 'CAFE'],
    ['03', '-8.00', '202603030001', 'BUS'],
  ] as const;
  await send(ofx(rows));
  const again = await send(
    ofx([
      ...rows.map(([day, amount, id, name]) => [day, amount, `X9${id}`, name] as const),
      ['04', '-4.00', 'X94', 'KIOSK'],
    ]),
  );
  expect(again).toMatchObject({ inserted: 1, duplicates: 3 });
  expect(await movements()).toEqual(['D15', 'D15', 'D4', 'D8']);
});

test('10: two groups of a BAI2 file about one account and day are all stored, and the file again stores nothing', async () => {
  const group = (rows: readonly [code: number, cents: number, text: string][]) => {
    const total = rows.reduce((sum, [, cents]) => sum + cents, 0);
    const lines = rows.map(([code, cents, text]) => `16,${code},${cents},V,260301,,,,${text}/`);
    return [`03,${IBAN},TRY,040,+000,,,045,+000,,/`, ...lines, `49,+${total},${lines.length + 2}/`];
  };
  const groups = [
    group([
      [409, 2_000, 'CAPILANO MALL'],
      [409, 90_000, 'PENHORA MALL'],
      [108, 203_500, 'TFR 1020 0345678'],
      [409, 500, 'RTD CHQ SERVICE CHRG'],
    ]),
    group([
      [108, 11_500, 'TFR 1020 0345678'],
      [409, 2_000, 'WOODSTOCK NB'],
      [409, 500, 'GALERIES RICHELIEU'],
    ]),
  ];
  const file = [
    '01,0004,12345,260301,0829,001,80,1,2/',
    '02,12345,0004,1,260301,,TRY,/',
    ...groups.flat(),
    `98,+309500,2,${groups.flat().length + 2}/`,
    `99,+309500,1,${groups.flat().length + 4}/`,
    '',
  ].join('\n');
  const { send, movements } = await createClient();
  expect(await send(file)).toMatchObject({ inserted: 7, rejected: 0 });
  expect(await send(file)).toMatchObject({ inserted: 0, duplicates: 7 });
  expect(await movements()).toHaveLength(7);
});

test('a longer statement of a day with equal balances stores all of its entries', async () => {
  const { send, completeness } = await createClient();
  await send(mt940({ opening: 1000, rows: 'D10' }));
  expect(await send(mt940({ opening: 1000, rows: 'D10, D20, C20' }))).toMatchObject({
    inserted: 2,
    duplicates: 1,
  });
  expect(await completeness()).toMatchObject(RIGHT);
});

test('a movement that is missing from the statements is listed as surplus and makes the books contradictory', async () => {
  const { account, send, completeness } = await createClient();
  await send(json('D15', account, { unique_id: 'own-1' }));
  await send(mt940({ opening: 1000, rows: 'D15, D20' }));
  await send(json('D20', account, { unique_id: 'own-2' }));
  const surplus = [{ dc: 'Debit', amount: '20.00' }];
  expect(await completeness()).toMatchObject({
    status: 'contradictory',
    periods: [{ missing: [], surplus }],
  });
});

test('an entry that a table has two days later, alone, is known by its balance, as an assumption', async () => {
  const { send } = await createClient();
  await send(mt940({ opening: 900, rows: '01:D42' }));
  expect(await send(csv('03:D42=858'))).toMatchObject({ inserted: 0, duplicates: 1, assumed_duplicates: 1 });
});

test('a table with a letter that could not be read, and then the whole table, bring each row once', async () => {
  const { send } = await createClient();
  const whole = csv('01:D42 Dönerci, 01:D7 Market');
  const broken = Buffer.from(whole, 'utf8');
  const at = broken.indexOf(Buffer.from('ö'));
  await send(Buffer.concat([broken.subarray(0, at), Buffer.from([0xff]), broken.subarray(at + 2)]));
  expect(await send(whole)).toMatchObject({ inserted: 0, duplicates: 2 });
});
