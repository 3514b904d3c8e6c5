import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { looksLikeOfx, parseOfx } from '../../../src/statements/ofx/parse.ts';
import { countOf, describeEvents, entriesOf, readEvents } from '../statement-events.ts';

const OWN = fileURLToPath(new URL('../../samples/ofx/', import.meta.url));
/** Files of others, which this project does not contain. */
const PUBLIC = fileURLToPath(new URL('../../../../shared/samples/ofx/', import.meta.url));

const read = (path: string) => readEvents(parseOfx, readFileSync(path, 'utf8'), [1000]);

describe('the samples of this project', () => {
  it.each<[string, string[]]>([
    [
      'checking.ofx',
      [
        'statement TR380006400000099423106133 TRY',
        '2026-03-01 +1250.00',
        '2026-03-02 -89.90',
        '2026-03-03 -15.00',
        '2026-03-03 -15.00',
        '2026-03-04 -500.00',
        '2026-03-05 -10.00',
        'issue at 36: DTPOSTED',
        'end 7620.10',
      ],
    ],
    [
      'card-and-pending.ofx',
      [
        'statement 4111000000001111 USD',
        '2026-03-10 -10.80',
        '2026-03-11 -20.00',
        'issue at 42: CORRECTFITID',
        'pending 2026-03-31 -7.50',
        'end -30.80',
      ],
    ],
    ['refused-sign-on.qfx', ['warning at 2', 'issue at 3: OFX']],
  ])('are read: %s', async (name, expected) => {
    const events = await read(OWN + name);
    expect(describeEvents(events)).toEqual(expected);
    expect(looksLikeOfx(readFileSync(OWN + name, 'utf8').slice(0, 4096))).toBe(true);
  });

  it('keep names and descriptions', async () => {
    const entries = [
      ...entriesOf(await read(`${OWN}checking.ofx`)),
      ...entriesOf(await read(`${OWN}card-and-pending.ofx`)),
    ];
    expect(entries.map(({ name, description }) => `${name}: ${description}`)).toEqual([
      'Acme Tekstil & Ticaret: Fatura 5137',
      'MARKET: Kart 4111 Kadikoy',
      'KAHVE: KAHVE',
      'KAHVE: KAHVE',
      'null: 000319',
      'null: Kira',
      'Café İstanbul: Café İstanbul',
      'A & B <C>: A & B <C>',
      'Market: Market',
    ]);
  });
});

/** Statements, entries, issues and warnings. */
const COUNTS: Record<string, [number, number, number, number]> = {
  'account_listing_aggregation.ofx': [0, 0, 1, 0], // A list of accounts.
  'anzcc.ofx': [1, 1, 0, 0],
  'bank_medium.ofx': [1, 3, 0, 0],
  'bank_small.ofx': [0, 0, 1, 0], // <OFX></OFX>
  'checking.ofx': [1, 3, 0, 0],
  'error_message.ofx': [0, 0, 1, 1], // The bank answered with an error.
  'fail_nice-date_missing.ofx': [1, 0, 3, 0],
  'fail_nice-decimal_error.ofx': [1, 0, 1, 0], // "$120"
  'fail_nice-empty_balance.ofx': [1, 1, 0, 1],
  'fidelity-savings.ofx': [0, 0, 1, 0], // Investments, as the following ones.
  'fidelity.ofx': [0, 0, 1, 0],
  'investment_401k.ofx': [0, 0, 1, 0],
  'investment_medium.ofx': [0, 0, 1, 0],
  'multiple_accounts.ofx': [2, 0, 0, 0], // Balances alone.
  'multiple_accounts2.ofx': [2, 0, 0, 0],
  'ofx-v102-empty-tags.ofx': [1, 1, 0, 1], // An empty ledger balance.
  'signon_fail.ofx': [0, 0, 1, 1],
  'signon_success.ofx': [0, 0, 1, 0],
  'signon_success_no_message.ofx': [0, 0, 1, 0],
  'suncorp.ofx': [1, 1, 0, 0],
  'td_ameritrade.ofx': [0, 0, 1, 0],
  'tiaacref.ofx': [0, 0, 1, 0],
  'vanguard.ofx': [0, 0, 1, 0],
  'vanguard401k.ofx': [0, 0, 1, 0],
};

describe.skipIf(!existsSync(PUBLIC))('public files', () => {
  it.each(Object.entries(COUNTS))('%s', async (name, expected) => {
    const events = await read(PUBLIC + name);
    const counts = (['statement', 'entry', 'issue', 'warning'] as const).map((type) => countOf(events, type));
    expect(counts).toEqual(expected);
    expect(looksLikeOfx(readFileSync(PUBLIC + name, 'utf8').slice(0, 4096))).toBe(true);
  });

  it('are all in the table', () => {
    expect(Object.keys(COUNTS)).toEqual(readdirSync(PUBLIC).filter((name) => name.endsWith('.ofx')));
  });
});
