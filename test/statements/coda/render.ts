import fc from 'fast-check';
import type { Rendered } from '../rendered.ts';
import { fileOf, IBAN, movement, record } from './records.ts';

const word = fc.stringMatching(/^[A-Z0-9.-]{1,20}$/);

const single = fc.record({
  amount: fc.bigInt({ min: -(10n ** 13n), max: 10n ** 13n }).map((cents) => 10n * cents),
  reference: fc.stringMatching(/^[A-Z0-9.-]{1,21}$/),
  text: word,
  name: fc.option(word, { nil: null }),
  more: fc.option(word, { nil: null }),
});
type Single = typeof single extends fc.Arbitrary<infer T> ? T : never;

/** A booking: one movement, or a total with several details. */
const booking = fc.array(single, { minLength: 1, maxLength: 3 });

const numberOf = (number: number) => String(number).padStart(4, '0');

function renderMovement(
  { amount, reference, text, name, more }: Single,
  sequence: string,
  detail: string,
  code: string,
) {
  const lines = [movement(amount, { sequence, detail, code, reference, text })];
  if (name !== null) lines.push(record({ 1: `23${sequence}${detail}`, 11: IBAN, 48: name }));
  if (more !== null)
    lines.push(record({ 1: `31${sequence}${detail}`, 11: reference, 32: code, 40: `0${more}` }));
  return lines;
}

function renderBooking(parts: readonly Single[], at: number): string[] {
  const sequence = numberOf(at + 1);
  const [only, ...others] = parts;
  if (only === undefined) return [];
  if (others.length === 0) return renderMovement(only, sequence, '0000', '00150000');
  const total = parts.reduce((sum, { amount }) => sum + amount, 0n);
  return [
    movement(total, { sequence, code: '10107000', reference: 'TOTAL' }),
    ...parts.flatMap((part, index) => renderMovement(part, sequence, numberOf(index + 1), '50107000')),
  ];
}

const OPENING = 100_000n;

export const renderedCoda: fc.Arbitrary<Rendered> = fc
  .record({
    bookings: fc.array(booking, { maxLength: 5 }),
    end: fc.constantFrom('\n', '\r\n', '\r', '\r\n\r\n', ''),
    isTrimmed: fc.boolean(),
  })
  .map(({ bookings, end, isTrimmed }) => {
    const file = fileOf(bookings.flatMap(renderBooking), { opening: OPENING });
    const trimmed = isTrimmed && end !== '' ? file.replaceAll(/ +\r\n/g, '\r\n') : file;
    const all = bookings.flat();
    return {
      text: trimmed.replaceAll('\r\n', end),
      entries: all.map(({ amount, reference, text, name, more }) => ({
        dc: amount < 0n ? ('Debit' as const) : ('Credit' as const),
        amount: amount < 0n ? -amount : amount,
        date: '2026-03-02',
        reference,
        name,
        description:
          more === null || ` ${words(text)} `.includes(` ${words(more)} `) ? text : `${text} ${more}`,
      })),
      statements: [{ number: null, closing: all.reduce((sum, { amount }) => sum + amount, OPENING) }],
    };
  });

const words = (text: string) => text.replaceAll(/[^A-Z0-9]+/g, ' ').trim();
