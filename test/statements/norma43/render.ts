import fc from 'fast-check';
import type { Rendered } from '../rendered.ts';

const words = fc.stringMatching(/^[A-ZÑÁ0-9.,/-]{1,12}( [A-ZÑÁ0-9.,/-]{1,12}){0,2}$/);
const movement = fc.record({
  isDebit: fc.boolean(),
  amount: fc.bigInt({ min: 0n, max: 10n ** 14n - 1n }),
  concepts: fc.stringMatching(/^\d{5}$/),
  reference: fc.stringMatching(/^[1-9][0-9]{11}$/),
  texts: fc.array(words, { minLength: 1, maxLength: 5 }),
});
type Movement = typeof movement extends fc.Arbitrary<infer T> ? T : never;

/** The last digits make them valid numbers of different accounts. */
const account = fc.record({
  number: fc.stringMatching(/^[1-9]\d{9}$/),
  opening: fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }),
  movements: fc.array(movement, { maxLength: 5 }),
});
type Account = typeof account extends fc.Arbitrary<infer T> ? T : never;

const digits = (value: bigint | number, length: number) =>
  `${value < 0 ? -value : value}`.padStart(length, '0');
const signed = (value: bigint) => `${value < 0n ? 1 : 2}${digits(value, 14)}`;
const sumOf = (movements: readonly Movement[]) => movements.reduce((sum, { amount }) => sum + amount, 0n);
const debitsOf = ({ movements }: Account) => movements.filter(({ isDebit }) => isDebit);
const creditsOf = ({ movements }: Account) => movements.filter(({ isDebit }) => !isDebit);
const closingOf = (it: Account) => it.opening + sumOf(creditsOf(it)) - sumOf(debitsOf(it));

/** Sums and balances have 14 digits. */
const fits = (it: Account) =>
  [sumOf(debitsOf(it)), sumOf(creditsOf(it)), closingOf(it)].every(
    (value) => value < 10n ** 14n && value > -(10n ** 14n),
  );

function render(it: Account): string[] {
  const key = `00000007${it.number}`;
  const side = (movements: readonly Movement[]) => digits(movements.length, 5) + digits(sumOf(movements), 14);
  return [
    `11${key}260301260331${signed(it.opening)}9783${'MOLINO'.padEnd(29)}`,
    ...it.movements.flatMap(({ isDebit, amount, concepts, reference, texts }) => [
      `22    0007260302260303${concepts}${isDebit ? 1 : 2}${digits(amount, 14)}${'0'.repeat(10)}${reference}${' '.repeat(16)}`,
      ...texts.map((text, at) => `230${at + 1}${text.padEnd(76)}`),
    ]),
    `33${key}${side(debitsOf(it))}${side(creditsOf(it))}${signed(closingOf(it))}978    `,
  ];
}

export const renderedNorma43: fc.Arbitrary<Rendered> = fc
  .record({
    accounts: fc.array(account.filter(fits), { minLength: 1, maxLength: 3 }),
    end: fc.constantFrom('\n', '\r\n', '\r', '\n\n', ''),
    isTrimmed: fc.boolean(),
  })
  .map(({ accounts, end, isTrimmed }) => {
    const records = accounts.flatMap(render);
    const all = [...records, `88${'9'.repeat(18)}${digits(records.length, 6)}`.padEnd(80)];
    const lines = isTrimmed && end !== '' ? all.map((line) => line.trimEnd()) : all;
    return {
      text: lines.map((line) => line + end).join(''),
      entries: accounts.flatMap(({ movements }) =>
        movements.map((it) => ({
          dc: it.isDebit ? ('Debit' as const) : ('Credit' as const),
          amount: 10n * it.amount,
          code: it.concepts,
          reference: it.reference,
          description: it.texts.join(' '),
          date: '2026-03-02',
        })),
      ),
      statements: accounts.map((it) => ({ number: it.number, closing: 10n * closingOf(it) })),
    };
  });
