import fc from 'fast-check';
import type { Rendered } from '../rendered.ts';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ğİöß,.'];
const word = fc.string({ unit: fc.constantFrom(...LETTERS), minLength: 1, maxLength: 12 });
const words = (maxLength: number) => fc.array(word, { minLength: 1, maxLength }).map((all) => all.join(' '));
const reference = fc.option(fc.stringMatching(/^[A-Z][0-9]{1,15}$/));

/** A random movement, and how its entry is written. */
const movement = fc.record({
  cents: fc.oneof(fc.bigInt(0n, 10n ** 7n), fc.bigInt(0n, 10n ** 17n)),
  mark: fc.constantFrom('C', 'D', 'RC', 'RD'),
  currencyLetter: fc.constantFrom('', 'R', 'D', 'Y', 'N', 'C'),
  /** Days since 2000-01-01. */
  valueDay: fc.integer({ min: 366, max: 28_000 }),
  /** The booking date minus the value date in days; null: no entry date. */
  bookedAfter: fc.option(fc.integer({ min: -100, max: 100 })),
  own: reference,
  bank: reference,
  style: fc.constantFrom('free text', 'sub-fields', 'SEPA', 'slash tags'),
  separator: fc.constantFrom('?', '~', '^', '<', '>', '@', '#'),
  description: words(15),
  name: words(6).map((text) => text.slice(0, 54).trim()),
  iban: fc.constantFrom('DE02120300000000202051', 'TR330006100519786457841326', 'NL91ABNA0417164300'),
  /** How the amount is written. */
  writtenAs: fc.constantFrom('two digits', 'shortest', 'zeros before'),
  losesBlanks: fc.boolean(),
});

type Movement = typeof movement extends fc.Arbitrary<infer T> ? T : never;

const file = fc.record({
  statements: fc.array(fc.array(movement, { maxLength: 8 }), { minLength: 1, maxLength: 4 }),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  envelope: fc.boolean(),
});

type File = typeof file extends fc.Arbitrary<infer T> ? T : never;

const isoDate = (day: number): string => new Date(Date.UTC(2000, 0, 1 + day)).toISOString().slice(0, 10);

const signed = ({ mark, cents }: Movement): bigint => (mark === 'C' || mark === 'RD' ? cents : -cents);

function renderAmount({ cents, writtenAs }: Pick<Movement, 'cents' | 'writtenAs'>): string {
  const text = `${cents / 100n},${(cents % 100n).toString().padStart(2, '0')}`;
  if (writtenAs === 'shortest') return text.replace(/0{1,2}$/, '');
  return writtenAs === 'zeros before' ? text.padStart(21, '0') : text;
}

function renderBalance(cents: bigint): string {
  const amount = renderAmount({ cents: cents < 0n ? -cents : cents, writtenAs: 'two digits' });
  return `${cents < 0n ? 'D' : 'C'}261130EUR${amount}`;
}

function* chunks(text: string, width: number): Generator<string> {
  for (let start = 0; start < text.length; start += width) yield text.slice(start, start + width);
}

function* groups(all: string[], size: number): Generator<string[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size);
}

/** A bank that drops blanks at the end drops them from sub-fields too. */
function renderSubFields({ style, separator, description, name, iban, losesBlanks }: Movement): string {
  const field = (code: number, text: string) => `${separator}${code}${losesBlanks ? text.trimEnd() : text}`;
  const remittance = style === 'SEPA' ? `EREF+E1 SVWZ+${description}` : description;
  const purpose = [...chunks(remittance, 27)].map((chunk, index) =>
    field(index < 10 ? 20 + index : 50 + index, chunk),
  );
  const names = [...chunks(name, 27)].map((chunk, index) => field(32 + index, chunk));
  return `166${separator}00GUTSCHRIFT${purpose.slice(0, 10).join('')}${field(31, iban)}${names.join('')}${purpose.slice(10).join('')}`;
}

function renderText(movement: Movement): string[] {
  const { style, description, name, iban, losesBlanks } = movement;
  if (style === 'free text') return [...groups(description.split(' '), 3)].map((line) => line.join(' '));
  if (style === 'slash tags')
    return [...chunks(`/TRTP/SEPA/IBAN/${iban}/NAME/${name}/REMI/${description}/EREF/E1`, 65)];
  const lines = [...chunks(renderSubFields(movement), 65)];
  return losesBlanks ? lines.map((line) => line.trimEnd()) : lines;
}

function renderEntry(movement: Movement): string[] {
  const { valueDay, bookedAfter, mark, currencyLetter, own, bank } = movement;
  const value = isoDate(valueDay).replaceAll('-', '').slice(2);
  const booked =
    bookedAfter === null
      ? ''
      : isoDate(valueDay + bookedAfter)
          .replaceAll('-', '')
          .slice(4);
  const references = `${own ?? 'NONREF'}${bank === null ? '' : `//${bank}`}`;
  const [first = '', ...more] = renderText(movement);
  return [
    `:61:${value}${booked}${mark}${currencyLetter}${renderAmount(movement)}NTRF${references}`,
    `:86:${first}`,
    ...more,
  ];
}

/** The text of a file, with balances that fit. */
function render({ statements, lineEnd, envelope }: File, interim: boolean): string {
  const lines = statements.flatMap((movements, index) => {
    const total = movements.reduce((sum, movement) => sum + signed(movement), 1000n);
    const head = [':20:REFERENCE', `:25:12345678/${index}`, ':28C:1/1'];
    const opening = interim ? ':34F:EUR0,' : `:60F:${renderBalance(1000n)}`;
    const closing = interim ? `:90C:${movements.length}EUR1,` : `:62F:${renderBalance(total)}`;
    const begin = `{1:F01ABCDTRISAXXX0000000000}{2:O94${interim ? 2 : 0}1200N}{4:`;
    const body = [...head, opening, ...movements.flatMap(renderEntry), closing];
    return envelope ? [begin, ...body, '-}'] : [...body, '-'];
  });
  return `${lines.join(lineEnd)}${lineEnd}`;
}

function expectedEntry(movement: Movement) {
  const { valueDay, bookedAfter, style, description, name, iban, own, bank, mark, cents } = movement;
  const hasCounterparty = style !== 'free text';
  return {
    status: 'booked' as const,
    date: isoDate(valueDay + (bookedAfter ?? 0)),
    dc: mark === 'C' || mark === 'RD' ? ('Credit' as const) : ('Debit' as const),
    amount: 10n * cents,
    code: 'NTRF',
    reference: bank ?? own,
    description,
    name: hasCounterparty ? name : null,
    opponentIban: hasCounterparty ? iban : null,
    opponentId: null,
  };
}

/** Files in MT940 or, if `interim`, in MT942, whose statements have no balances. */
export const renderedMt940 = (interim: boolean): fc.Arbitrary<Rendered> =>
  file.map((content) => ({
    text: render(content, interim),
    entries: content.statements.flat().map(expectedEntry),
    statements: content.statements.map((all, index) => ({
      number: `${index}`,
      closing: interim ? null : 10n * all.reduce((sum, each) => sum + signed(each), 1000n),
    })),
  }));
