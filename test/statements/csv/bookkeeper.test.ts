import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAmount } from '../../../packages/statements/src/amounts.ts';
import { createCsvParser, detectProfile } from '../../../packages/statements/src/csv/parse.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { collect, entriesOf, inParts } from '../profiles/events.ts';
import { testProfile } from '../profiles/profile.fixture.ts';

/** What a person sees at a glance in an export: short rows, pending rows, dashes for no amount, fees, and another language. */

const columnsOf = (heading: readonly string[]) => {
  const [date, state, debit, credit, fee, description, balance] = heading;
  return { date, debit, credit, fee, description, balance, status: { column: state, pending: ['pending'] } };
};
const HEADING = ['Date', 'State', 'Out', 'In', 'Fee', 'Text', 'Balance'];
const GERMAN = ['Datum', 'Status', 'Soll', 'Haben', 'Gebühr', 'Text', 'Saldo'];
const PROFILE = testProfile({
  delimiter: [';', '\t'],
  heading: HEADING,
  columns: columnsOf(HEADING),
  variants: [
    { heading: GERMAN, columns: columnsOf(GERMAN) },
    { delimiter: '|', decimalSign: '.', dateFormats: ['YYYY-MM-DD'] },
  ],
});

/** The forms in which the bank writes its files. */
interface Form {
  heading: readonly string[];
  delimiter: string;
  decimalSign: string;
  day: string;
}
const FORMS: readonly Form[] = [
  { heading: HEADING, delimiter: ';', decimalSign: ',', day: '01.02.2026' },
  { heading: HEADING, delimiter: '\t', decimalSign: ',', day: '01.02.2026' },
  { heading: GERMAN, delimiter: ';', decimalSign: ',', day: '01.02.2026' },
  { heading: GERMAN, delimiter: '\t', decimalSign: ',', day: '01.02.2026' },
  { heading: HEADING, delimiter: '|', decimalSign: '.', day: '2026-02-01' },
];

interface Line {
  cents: bigint;
  fee: bigint;
  state: '' | 'pending' | 'undated';
  nothing: string;
  cells: number;
}

const line = fc.record<Line>({
  cents: fc.oneof(fc.bigInt(-99_999_999n, -1n), fc.bigInt(1n, 99_999_999n)),
  fee: fc.bigInt(0n, 999n),
  state: fc.constantFrom('', '', 'pending', 'undated'),
  nothing: fc.constantFrom('', '-', '--', '—'),
  /** How many of its cells the row has. */
  cells: fc.constantFrom(5, 6, 7),
});

/** A file of these rows, and the balance after each. A pending row does not change it. */
function render(lines: readonly Line[], { heading, delimiter, decimalSign, day }: Form) {
  const money = (cents: bigint) => formatAmount(10n * cents, null).replace('.', decimalSign);
  let balance = 0n;
  const rows = lines.map(({ cents, fee, state, nothing, cells }) => {
    if (state === '') balance += cents - fee;
    const [out, income] = cents < 0n ? [money(-cents), nothing] : [nothing, money(cents)];
    const isBooked = state === '';
    const row = [
      state === 'undated' ? '' : day,
      isBooked ? 'booked' : 'Pending',
      out,
      income,
      fee === 0n ? nothing : money(fee),
      'Text',
      isBooked ? money(balance) : nothing,
    ];
    return row.slice(0, cells).join(delimiter);
  });
  return { text: `${[heading.join(delimiter), ...rows].join('\n')}\n`, balance };
}

const warningsOf = (events: readonly StatementEvent[]) => events.filter(({ type }) => type === 'warning');

describe('a CSV file with rows that only a person would understand', () => {
  it('gives each booked row with its fee, each pending row that has a date, and one warning of the others', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 1, maxLength: 12 }),
        fc.constantFrom(...FORMS),
        async (lines, form) => {
          const { text, balance } = render(lines, form);
          const layout = detectProfile(text, [PROFILE]);
          if (layout === null) throw new Error('the heading is not recognised');
          const events = await collect(createCsvParser(layout)(inParts(text)));
          const entries = entriesOf(events);
          const dated = lines.filter(({ state }) => state !== 'undated');
          expect(entries.map(({ dc, amount }) => (dc === 'Debit' ? -amount : amount))).toEqual(
            dated.map(({ cents, fee }) => 10n * (cents - fee)),
          );
          expect(entries.map(({ status }) => status)).toEqual(
            dated.map(({ state }) => (state === '' ? 'booked' : 'pending')),
          );
          expect(events.filter(({ type }) => type === 'issue')).toEqual([]);
          expect(warningsOf(events)).toHaveLength(dated.length === lines.length ? 0 : 1);
          const last = entries.findLast((entry) => entry.status === 'booked');
          if (lines.findLast(({ state }) => state === '')?.cells === 7)
            expect(last?.balance).toBe(10n * balance);
        },
      ),
    );
  });
});
