import fc from 'fast-check';
import { formatAmount } from '../../../packages/statements/src/amounts.ts';
import { createCsvParser } from '../../../packages/statements/src/csv/parse.ts';
import type { Profile } from '../../../packages/statements/src/profile.ts';
import { testProfile } from '../profiles/profile.fixture.ts';
import type { Rendered } from '../rendered.ts';

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
  const signed = formatAmount(10n * (positive === 'debit' ? -amount : amount), null);
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

function expectedEntry(movement: Movement) {
  const { amount, text } = movement;
  return {
    status: 'booked' as const,
    date: isoDay(movement),
    dc: amount < 0n ? ('Debit' as const) : ('Credit' as const),
    amount: 10n * (amount < 0n ? -amount : amount),
    description: text.replaceAll(/\s+/g, ' ').trim() || null,
    currency: null,
    balance: null,
    code: null,
    name: null,
    opponentId: null,
    opponentIban: null,
    reference: null,
  };
}

export const renderedCsv: fc.Arbitrary<Rendered> = fc
  .tuple(
    fc.array(movement, { maxLength: 12 }),
    fc.constantFrom(...PROFILES),
    fc.constantFrom('\n', '\r\n', '\r'),
  )
  .map(([movements, profile, lineEnd]) => ({
    parse: createCsvParser(profile),
    text: render(movements, profile, lineEnd),
    entries: movements.map(expectedEntry),
    statements: [{ number: null, closing: null }],
  }));
