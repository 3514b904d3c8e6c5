import fc from 'fast-check';
import type { Rendered } from '../rendered.ts';

const word = fc.stringMatching(/^[A-Z0-9 .-]{0,20}$/).map((value) => value.trim());
const funds = fc.oneof(
  fc.constantFrom('', 'Z', '0', '1', '2', 'V,260303,', 'V,260303,1200', 'S,,,', 'S,1,2,3', 'D,0'),
  fc.integer({ min: 1, max: 5 }).map((pairs) => `D,${pairs}${',1,50'.repeat(pairs)}`),
);
const movement = fc.record({
  code: fc.constantFrom('165', '195', '399', '475', '699', '930', '970'),
  amount: fc.bigInt({ min: 0n, max: 10n ** 18n }),
  reference: fc.stringMatching(/^[A-Z0-9.-]{1,16}$/),
  text: fc.array(
    word.filter((value) => value !== ''),
    { minLength: 1, maxLength: 3 },
  ),
  funds,
});
type Movement = typeof movement extends fc.Arbitrary<infer T> ? T : never;

const isDebit = ({ code }: Movement) => /^[4-69]/.test(code) && code !== '930';

/** `splitAt`: after which fields a continuation begins. */
function renderMovement({ code, amount, reference, text, funds }: Movement, splitAt: number): string[] {
  const fields = ['16', code, `${amount}`, ...funds.split(','), reference, ''];
  const head = splitAt > 2 && splitAt < fields.length ? splitAt : fields.length;
  const first = fields.slice(0, head);
  const second = fields.slice(head);
  const [start = '', ...more] = text;
  const lines = second.length === 0 ? [`${first},${start}`] : [`${first}/`, `88,${second},${start}`];
  return [...lines, ...more.map((line) => `88,${line}`)];
}

const closingOf = (movements: readonly Movement[], opening: bigint) =>
  movements.reduce((sum, it) => (isDebit(it) ? sum - it.amount : sum + it.amount), opening);

function render(
  movements: readonly Movement[],
  opening: bigint,
  end: string,
  closes: boolean,
  splitAt: number,
): string {
  const closing = closingOf(movements, opening);
  const total = movements.reduce((sum, { amount }) => sum + amount, opening + closing);
  const details = movements.flatMap((it) => renderMovement(it, splitAt));
  const slash = closes ? '/' : '';
  const records = details.length + 2;
  return [
    `01,BANKEX,ACME,260302,0600,1,999,,2${slash}`,
    `02,ACME,BANKEX,1,260301,,USD,2${slash}`,
    `03,17,,010,${opening},,,015,${closing},,${slash}`,
    ...details.map((line) => (closes ? line.replace(/\/?$/, '/') : line)),
    `49,${total},${records}${slash}`,
    `98,${total},1,${records + 2}${slash}`,
    `99,${total},1,${records + 4}${slash}`,
    '',
  ].join(end);
}

export const renderedBai2: fc.Arbitrary<Rendered> = fc
  .record({
    movements: fc.array(movement, { maxLength: 6 }),
    opening: fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }),
    end: fc.constantFrom('\n', '\r\n', '\r', '\n\n', ' '),
    closes: fc.boolean(),
    splitAt: fc.integer({ min: 3, max: 12 }),
  })
  .map(({ movements, opening, end, closes, splitAt }) => ({
    // Records on one line need their closing slashes.
    text: render(movements, opening, end, closes || end === ' ', splitAt),
    entries: movements.map((it) => ({
      dc: isDebit(it) ? 'Debit' : 'Credit',
      code: it.code,
      amount: 10n * it.amount,
      reference: it.reference,
      description: it.text.join(' '),
      date: '2026-03-01',
    })),
    statements: [{ number: '17', closing: 10n * closingOf(movements, opening) }],
  }));
