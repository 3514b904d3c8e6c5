import { describe, expect, it } from 'vitest';
import { createCsvParser } from '../../../packages/statements/src/csv/parse.ts';
import { collect, inParts, show } from '../profiles/events.ts';
import { testProfile } from '../profiles/profile.fixture.ts';

/** What a CSV file decides as a whole: the order of its dates, and whether its last row is whole. */

async function read(text: string, changes: Record<string, unknown> = {}): Promise<string[]> {
  const events = await collect(createCsvParser(testProfile(changes))(inParts(text)));
  return events.flatMap((event) => {
    if (event.type === 'entry') return [show(event.entry)];
    if (event.type === 'issue') return [`${event.line} ${event.path}: ${event.message}`];
    return event.type === 'warning' ? [`${event.line} warning: ${event.message}`] : [];
  });
}

const BOTH = { dateFormats: ['DD/MM/YYYY', 'MM/DD/YYYY'] };
const file = (...rows: string[]) => `Date;Amount;Text;Balance\n${rows.join('\n')}\n`;

describe('the ambiguous dates of a CSV file', () => {
  it('are read in the order that one row proves, including the rows before it', async () => {
    expect(await read(file('01/02/2026;1,00;a;', '02/13/2026;2,00;b;', '03/01/2026;3,00;c;'), BOTH)).toEqual([
      '2026-01-02 Credit 1.00 | a',
      '2026-02-13 Credit 2.00 | b',
      '2026-03-01 Credit 3.00 | c',
    ]);
    expect(await read(file('01/02/2026;1,00;a;', '13/02/2026;2,00;b;'), BOTH)).toEqual([
      '2026-02-01 Credit 1.00 | a',
      '2026-02-13 Credit 2.00 | b',
    ]);
  });

  it('are refused with both readings of a row when no row proves the order', async () => {
    await expect(read(file('01/01/2026;1,00;a;', '01/02/2026;1,00;a;'), BOTH)).rejects.toThrow(
      '"01/02/2026" in line 3 is 2026-02-01 as DD/MM/YYYY, and 2026-01-02 as MM/DD/YYYY',
    );
  });

  it('need no proof when both readings are equal or the profile allows one order', async () => {
    expect(await read(file('02/02/2026;1,00;a;'), BOTH)).toEqual(['2026-02-02 Credit 1.00 | a']);
    expect(await read(file('01/02/2026;1,00;a;'), { dateFormats: ['DD/MM/YYYY', 'YYYY-MM-DD'] })).toEqual([
      '2026-02-01 Credit 1.00 | a',
    ]);
  });

  it('are refused in the other order after one row has proved the order', async () => {
    const rows = await read(file('13/02/2026;1,00;a;', '02/14/2026;2,00;b;'), BOTH);
    expect(rows).toEqual([
      '2026-02-13 Credit 1.00 | a',
      expect.stringContaining('3 date: "02/14/2026" is not a date'),
    ]);
  });
});

describe('the last row of a CSV file without a final line end', () => {
  const AMOUNT_LAST = {
    heading: ['Date', 'Text', 'Amount'],
    columns: { date: 'Date', amount: 'Amount', description: 'Text' },
  };
  const cut = (last: string) => `Date;Text;Amount\n01.02.2026;a;-9.876,50\n${last}`;

  it.each(['02.02.2026;b;-1.234', '02.02.2026;b;-1.234,', '02.02.2026;b;-1.234,5', '02.02.2026;b;-1'])(
    'is refused when its amount has fewer decimals than the amount before: %s',
    async (last) => {
      const [first, issue, ...others] = await read(cut(last), AMOUNT_LAST);
      expect(first).toBe('2026-02-01 Debit 9876.50 | a');
      expect(issue).toContain('the file ends within this row');
      expect(others).toEqual([]);
    },
  );

  it('is read when its amount is complete', async () => {
    expect(await read(cut('02.02.2026;b;-1.234,56'), AMOUNT_LAST)).toEqual([
      '2026-02-01 Debit 9876.50 | a',
      '2026-02-02 Debit 1234.56 | b',
    ]);
  });

  it('has a warning when its balance is missing and the row before has a balance', async () => {
    const rows = await read('Date;Amount;Text;Balance\n01.02.2026;1,00;a;5,00\n02.02.2026;-12,50;b;');
    expect(rows).toContain('2026-02-02 Debit 12.50 | b');
    expect(rows).toContainEqual(expect.stringContaining('3 warning: the file ends within this row'));
    expect(await read('Date;Amount;Text;Balance\n01.02.2026;1,00;a;\n02.02.2026;-12,50;b;')).toHaveLength(2);
  });
});
