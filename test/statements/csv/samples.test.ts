import { isUtf8 } from 'node:buffer';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadProfiles } from '../../../src/imports/load-profiles.ts';
import { createCsvParser, detectProfile } from '../../../src/statements/csv/parse.ts';
import { decode } from '../../../src/statements/decode.ts';
import { formatAmount } from '../../../src/statements/values.ts';
import { collect, count, entriesOf, inParts, show } from '../profiles/events.ts';

const PROFILES = loadProfiles(undefined);
const OWN = join(import.meta.dirname, '../../samples/csv');
const PUBLIC = join(import.meta.dirname, '../../../../shared/samples/csv');
const TR_IBAN = 'TR330006100519786457841326';

/** Detects the profile of a file and parses it, as an import does. */
async function parseFile(path: string) {
  let start = '';
  for await (const part of decode(createReadStream(path))) start += part;
  const profile = detectProfile(start.slice(0, 4096), PROFILES);
  if (profile === null) throw new Error(`no profile fits ${path}`);
  // The encoding of a profile is that of files which are not UTF-8.
  const encoding = isUtf8(readFileSync(path)) ? undefined : profile.encoding;
  const events = await collect(createCsvParser(profile)(decode(createReadStream(path), encoding)));
  return { profile: profile.name, events };
}

describe('own samples, one for each of these profiles', () => {
  it.each<[string, { account: string | null; currency?: string; entries: string[] }]>([
    [
      'isbankasi',
      {
        account: TR_IBAN,
        entries: [
          '2026-02-16 Debit 1250.00 = 8750.50 | EFT | ÖRNEK LTD*0111*FATURA 5137 | 2026021600001',
          '2026-02-15 Credit 10000.50 = 10000.50 | Havale | MAAŞ ŞUBAT | 2026021500007',
        ],
      },
    ],
    [
      'akbank',
      {
        account: TR_IBAN,
        entries: [
          '2026-01-27 Debit 17.00 = 983.00 | 062 MARKET TEMASSIZ | 1001',
          '2026-01-26 Credit 1000.00 = 1000.00 | GELEN EFT; FATURA 12 | 1000',
        ],
      },
    ],
    [
      'ziraat',
      {
        account: TR_IBAN,
        entries: [
          '2026-03-02 Credit 1500.00 = 1500.00 | Gönd: ÖRNEK A.Ş. | F08179',
          '2026-03-03 Debit 200.00 = 1300.00 | Para Çekme | F08180',
        ],
      },
    ],
    [
      'garanti-bbva',
      {
        account: TR_IBAN,
        entries: [
          '2026-02-23 Debit 2500.00 = 1021.00 | Kart Ödemesi | 0020-Kart Ödeme | D-2',
          '2026-02-21 Credit 3521.00 = 3521.00 | Maaş | MAAŞ | D-1',
        ],
      },
    ],
    [
      'enpara',
      {
        account: TR_IBAN,
        currency: 'TRY',
        entries: [
          '2026-02-19 Credit 5025.00 = 31414.95 | Gelen Transfer | ÖRNEK, FAST',
          '2026-02-18 Debit 67.98 = 26389.95 | Encard Harcaması | MARKET, 67.98 TRY',
        ],
      },
    ],
    [
      'ing-nl',
      {
        account: 'NL91ABNA0417164300',
        currency: 'EUR',
        entries: [
          '2026-09-02 Debit 12.45 = 1987.55 | Betaalautomaat | Pasvolgnr: 003 | Bakkerij Voorbeeld',
          '2026-09-01 Credit 2000.00 = 2000.00 | Overschrijving | Naam: Voorbeeld "BV" | Voorbeeld BV | NL02ABNA0123456789',
        ],
      },
    ],
    [
      'knab',
      {
        account: 'NL91ABNA0417164300',
        currency: 'EUR',
        entries: [
          '2026-06-21 Debit 827.75 | EUR | Overboeking | Factuur 7 | Voorbeeld BV | NL02ABNA0123456789 | K1',
          '2026-06-22 Credit 6.50 | EUR | Rente | Rente | K2',
        ],
      },
    ],
    [
      'dkb',
      {
        account: 'DE89370400440532013000',
        currency: 'EUR',
        entries: [
          '2026-10-09 Debit 13.99 | pending | Ausgang | Beispiel Streaming',
          '2026-10-08 Debit 23.45 | Ausgang | Einkauf | Drogerie Beispiel | DE02120300000000202051 | R2',
          '2026-10-07 Credit 2255.00 | Eingang | Gehalt | Beispiel GmbH | DE02120300000000202051 | R1',
        ],
      },
    ],
    [
      'ubs',
      {
        account: 'CH9300762011623852957',
        entries: [
          '2026-09-30 Debit 23.40 = 5826.60 | CHF | Markt Beispiel Zahlung Debitkarte | T1',
          '2026-09-28 Debit 150.00 = 5850.00 | CHF | Sammelauftrag e-banking-Auftrag | T2',
          '2026-09-25 Credit 5000.00 = 6000.00 | CHF | Arbeitgeber Beispiel Gutschrift | T3',
        ],
      },
    ],
    [
      'nordea-se',
      {
        account: null,
        entries: [
          '2026-06-30 Debit 1250.00 = 8450.25 | SEK | Kortköp | Butik Exempel | 5343-2795',
          '2026-06-25 Credit 1500.00 = 9700.25 | SEK | Swish inbetalning',
        ],
      },
    ],
    [
      'mbank-pl',
      {
        account: null,
        entries: [
          '2026-01-02 Debit 10.50 = 3989.50 | PRZELEW WYCHODZĄCY FAKTURA 7 | PRZYKŁAD SP. Z O.O. | 61109010140000071219812874',
          '2026-01-02 Credit 4000.00 = 4000.00 | PRZELEW PRZYCHODZĄCY WYNAGRODZENIE | FIRMA',
        ],
      },
    ],
    [
      'starling',
      {
        account: null,
        currency: 'GBP',
        entries: [
          '2026-10-01 Credit 1500.00 = 5500.00 | FASTER PAYMENT | SALARY | An Employer',
          '2026-10-02 Debit 1000.00 = 4500.00 | FASTER PAYMENT | Rent | Landlord',
        ],
      },
    ],
    [
      'danske-bank',
      {
        account: null,
        entries: [
          '2026-02-22 Debit 57.20 = 29134.23 | Dagligvarer | Butik Eksempel',
          '2026-02-23 Debit 84.71 | pending | Abonnement',
        ],
      },
    ],
  ])('%s', async (name, expected) => {
    const { profile, events } = await parseFile(join(OWN, `${name}.csv`));
    expect(profile).toBe(name);
    expect(entriesOf(events).map(show)).toEqual(expected.entries);
    expect(events.filter(({ type }) => type === 'issue' || type === 'warning')).toEqual([]);
    const [statement] = events;
    expect(statement).toMatchObject({
      type: 'statement',
      kind: 'final',
      account: { iban: expected.account, number: null, currency: expected.currency ?? null },
    });
    expect(events.at(-1)?.type).toBe('end');
  });

  it('the balances around a table agree with its rows', async () => {
    const { events } = await parseFile(join(OWN, 'ubs.csv'));
    const [statement, end] = [events[0], events.at(-1)];
    if (statement?.type !== 'statement' || end?.type !== 'end') throw new Error('no statement');
    const sum = entriesOf(events).reduce(
      (total, { dc, amount }) => total + (dc === 'Debit' ? -amount : amount),
      0n,
    );
    expect(formatAmount((statement.opening?.amount ?? 0n) + sum)).toBe(
      formatAmount(end.closing?.amount ?? 0n),
    );
  });
});

describe.skipIf(!existsSync(PUBLIC))('public files, read in place', () => {
  it.each<[string, string, { statements: number; entries: number; issues: number }]>([
    ['2018-04-14_10-52-13_bunq-transactieoverzicht.csv', 'bunq', { statements: 1, entries: 3, issues: 0 }],
    ['20180226-1000594757-umsatz.CSV', 'sparkasse', { statements: 1, entries: 1, issues: 0 }],
    ['CSV_A_20180414_112204.csv', 'rabobank', { statements: 1, entries: 3, issues: 0 }],
    ['MonzoDataExport_February2018_2018-02-26_174335.csv', 'monzo', { statements: 1, entries: 1, issues: 0 }],
    ['Movements_1234512345_201805271848.csv', 'raiffeisenbank-cz', { statements: 1, entries: 1, issues: 0 }],
    // Its dates were made 1111/11/11 by the person who gave the file.
    ['TH_20180101-20180523_page_1.csv', 'ceska-sporitelna', { statements: 1, entries: 0, issues: 9 }],
    ['TransactionHistory_20180418043121.csv', 'ocbc', { statements: 1, entries: 8, issues: 0 }],
    ['export_BE11123456789012_20180304_1422.csv', 'kbc', { statements: 1, entries: 1, issues: 0 }],
    [
      'umsatz-1234________1234-20180227.CSV',
      'sparkasse-credit-card',
      { statements: 1, entries: 1, issues: 0 },
    ],
  ])('%s is %s', async (file, name, expected) => {
    const { profile, events } = await parseFile(join(PUBLIC, file));
    expect(profile).toBe(name);
    expect({
      statements: count(events, 'statement'),
      entries: count(events, 'entry'),
      issues: count(events, 'issue'),
    }).toEqual(expected);
    expect(count(events, 'warning')).toBe(0);
  });

  it('the columns of the file whose dates are made anonymous are mapped', async () => {
    const path = join(PUBLIC, 'TH_20180101-20180523_page_1.csv');
    const profile = PROFILES.find(({ name }) => name === 'ceska-sporitelna');
    if (profile === undefined) throw new Error('no profile');
    const text = new TextDecoder('windows-1250')
      .decode(readFileSync(path))
      .replaceAll('1111/11/11', '2018/05/11');
    const entries = entriesOf(await collect(createCsvParser(profile)(inParts(text))));
    expect(entries).toHaveLength(9);
    expect(entries.map(show)[0]).toBe(
      '2018-05-11 Debit 111.11 | XXXXXX XXXXXX 1111 | XXXXXXXXXXXX1111 | XXXXX XXXXX XXXX XXXXX 11 | 1111111111111',
    );
  });
});
