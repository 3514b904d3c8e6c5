import { describe, expect, it } from 'vitest';
import { createCsvParser } from '../../../packages/statements/src/csv/parse.ts';
import { NO_IDENTITY } from '../../../packages/statements/src/statement.ts';
import { collect, entriesOf, inParts, show } from '../profiles/events.ts';
import { testProfile } from '../profiles/profile.fixture.ts';

const HEADING = 'Date;Amount;Text;Balance\n';

const parse = (text: string, changes: Record<string, unknown> = {}) =>
  collect(createCsvParser(testProfile(changes))(inParts(text)));

describe('a CSV file', () => {
  const BY_ACCOUNT = {
    heading: ['Account', 'Date', 'Amount'],
    columns: { date: 'Date', amount: 'Amount' },
    account: { number: { column: 'Account' } },
  };

  it('has one statement for each account of its account column', async () => {
    const events = await parse(
      'Account;Date;Amount\n"broken\nTR33 0006 1005 1978 6457 8413 26;01.02.2026;1,00\n;02.02.2026;2,00\n123;03.02.2026;3,00\n',
      BY_ACCOUNT,
    );
    expect(
      events.map((event) =>
        event.type === 'statement' ? (event.account.iban ?? event.account.number) : event.type,
      ),
    ).toEqual(['TR330006100519786457841326', 'issue', 'entry', 'entry', 'end', '123', 'entry', 'end']);
  });

  it('whose table has no rows has a statement of the account above the table', async () => {
    const events = await parse(`Account: 12 345\n${HEADING}`, { account: { number: { label: 'Account' } } });
    expect(events).toEqual([
      {
        type: 'statement',
        line: 2,
        kind: 'final',
        opening: null,
        identity: NO_IDENTITY,
        account: { iban: null, number: '12 345', currency: null, bank: 'Test Bank' },
      },
      { type: 'end', line: 2, closing: null },
    ]);
  });

  it('takes balances above and below the table, and keeps a movement whose text begins like a balance', async () => {
    const events = await parse(
      `Opening balance;10,00;01.02.2026\n${HEADING}02.02.2026;5,00;Closing balance;15,00\nClosing balance on 28.02.2026:;;15,00 EUR\n`,
      {
        currencyTexts: ['EUR'],
        openingBalance: { label: 'Opening balance' },
        closingBalance: { label: ['Closing balance on', 'Saldo'] },
      },
    );
    expect(events[0]).toMatchObject({ opening: { amount: 10000n, date: '2026-02-01' } });
    expect(entriesOf(events).map(show)).toEqual(['2026-02-02 Credit 5.00 = 15.00 | Closing balance']);
    expect(events.at(-1)).toEqual({ type: 'end', line: 4, closing: { amount: 15000n, date: '2026-02-28' } });
  });

  it('with a balance row without an amount has a warning', async () => {
    const events = await parse(`${HEADING}Saldo;?\n`, { closingBalance: { label: 'Saldo' } });
    expect(events).toContainEqual({
      type: 'warning',
      line: 2,
      message: 'the closingBalance has no amount that can be read',
    });
  });

  it('that is empty has an issue', async () => {
    expect((await parse('')).map(({ type }) => type)).toEqual(['issue']);
  });
});
