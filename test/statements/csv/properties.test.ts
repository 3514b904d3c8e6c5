import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCsvParser } from '../../../src/statements/csv/parse.ts';
import type { Profile } from '../../../src/statements/profiles/profile.ts';
import { formatAmount } from '../../../src/statements/values.ts';
import { collect, entriesOf, inParts, show } from '../profiles/events.ts';
import { testProfile } from '../profiles/profile.fixture.ts';

const PROFILES = [
  testProfile(),
  testProfile({ delimiter: ',', decimalSign: '.' }),
  testProfile({ delimiter: '\t', quote: "'", dateFormats: ['YYYYMMDD'] }),
  testProfile({ delimiter: '|', positive: 'debit', dateFormats: ['MM/DD/YYYY'] }),
];

interface Movement {
  day: Date;
  amount: bigint;
  text: string;
}

const movement = fc.record<Movement>({
  day: fc.date({ min: new Date('1950-01-01'), max: new Date('2099-12-31'), noInvalidDate: true }),
  amount: fc.bigInt(-(10n ** 17n), 10n ** 17n),
  text: fc.string({
    unit: fc.constantFrom('a', 'Ş', ' ', ';', ',', '"', "'", '\n', '\t', '|', '0'),
    maxLength: 20,
  }),
});

const isoDay = ({ day }: Movement) => day.toISOString().slice(0, 10);

function renderDate(movement: Movement, { dateFormats: [format = 'DD.MM.YYYY'] }: Profile): string {
  const [year = '', month = '', day = ''] = isoDay(movement).split('-');
  return format.replace('YYYY', year).replace('MM', month).replace('DD', day);
}

function renderAmount({ amount }: Movement, { decimalSign, positive }: Profile): string {
  const signed = formatAmount(positive === 'debit' ? -amount : amount);
  const [whole = '', fraction = ''] = signed.split('.');
  const thousands = decimalSign === ',' ? '.' : ',';
  return `${whole.replaceAll(/\B(?=(\d{3})+$)/g, thousands)}${decimalSign}${fraction}`;
}

function render(movements: readonly Movement[], profile: Profile, lineEnd: string): string {
  const { delimiter } = profile;
  const quote = profile.quote ?? '"';
  const field = (text: string) => `${quote}${text.replaceAll(quote, quote + quote)}${quote}`;
  const rows = movements.map((one) =>
    [renderDate(one, profile), field(renderAmount(one, profile)), field(one.text), ''].join(delimiter),
  );
  return [['Date', 'Amount', 'Text', 'Balance'].join(delimiter), ...rows, ''].join(lineEnd);
}

const shown = ({ amount, text, ...one }: Movement): string => {
  const description = text.replaceAll(/\s+/g, ' ').trim();
  const absolute = formatAmount(amount < 0n ? -amount : amount);
  const day = isoDay({ amount, text, ...one });
  return `${day} ${amount < 0n ? 'Debit' : 'Credit'} ${absolute}${description === '' ? '' : ` | ${description}`}`;
};

const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 8 });

describe('a CSV file', () => {
  it('gives the movements that it was made from, however it is split', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(movement, { maxLength: 12 }),
        fc.constantFrom(...PROFILES),
        fc.constantFrom('\n', '\r\n', '\r'),
        sizes,
        async (movements, profile, lineEnd, splits) => {
          const text = render(movements, profile, lineEnd);
          const events = await collect(createCsvParser(profile)(inParts(text, splits)));
          expect(entriesOf(events).map(show)).toEqual(movements.map(shown));
          expect(events.filter(({ type }) => type === 'issue' || type === 'warning')).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('gives the same events however it is split, also when it is broken', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({
          unit: fc.constantFrom('1', ',', ';', '"', '\n', '\r', '.', ' ', 'x', '-'),
          maxLength: 300,
        }),
        sizes,
        async (tail, splits) => {
          const text = `Date;Amount;Text;Balance\n01.02.2026;1,00;a;\n${tail}`;
          const parser = createCsvParser(testProfile());
          expect(await collect(parser(inParts(text, splits)))).toEqual(
            await collect(parser(inParts(text, [1e6]))),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('with a piece cut, repeated or replaced is read to its end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(movement, { minLength: 2, maxLength: 8 }),
        fc.nat(),
        fc.nat(12),
        fc.constantFrom('cut', 'repeat', '"', ';', '\n', '\u0000'),
        async (movements, where, length, kind) => {
          const [profile] = PROFILES;
          if (profile === undefined) throw new Error('no profile');
          const text = render(movements, profile, '\n');
          const at = where % text.length;
          const piece = text.slice(at, at + length);
          const middle = kind === 'cut' ? '' : kind === 'repeat' ? piece + piece : kind;
          const damaged = text.slice(0, at) + middle + text.slice(at + length);
          const events = await collect(createCsvParser(profile)(inParts(damaged)));
          // A change within a date, an amount or a text can give another valid one. What is certain: nothing is thrown, each
          // event is of a row of the file, and there are no more of them than rows.
          const rows = damaged.split('\n').length;
          expect(
            events.filter(({ type }) => type === 'entry' || type === 'issue').length,
          ).toBeLessThanOrEqual(rows);
          for (const { amount, date } of entriesOf(events)) {
            expect(amount >= 0n).toBe(true);
            expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('of one endless line, or one open quotation mark, ends with issues', async () => {
    const parser = createCsvParser(testProfile());
    async function* endless(part: string) {
      yield 'Date;Amount;Text;Balance\n';
      for (let i = 0; i < 500; i += 1) yield part;
    }
    const line = await collect(parser(endless('x'.repeat(10_000))));
    expect(line.filter(({ type }) => type === 'issue')).toHaveLength(1);
    const quotes = await collect(
      parser(endless(`01.02.2026;1,00;"a;\n${'01.02.2026;1,00;a;\n'.repeat(50)}`)),
    );
    expect(quotes.filter(({ type }) => type === 'issue')).toHaveLength(500);
    expect(entriesOf(quotes)).toHaveLength(500 * 50);
  });
});
