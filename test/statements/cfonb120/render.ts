import fc from 'fast-check';
import { ribOf } from '../../../packages/statements/src/cfonb120/account.ts';
import type { Rendered } from '../rendered.ts';
import { balance, detail, movement } from './records.ts';

const words = fc.stringMatching(/^[A-ZÉÈ0-9.,/-]{1,12}( [A-ZÉÈ0-9.,/-]{1,12}){0,2}$/);
const rendered = fc.record({
  value: fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }).filter((it) => it !== 0n),
  code: fc.stringMatching(/^\d{2}$/),
  label: fc.stringMatching(/^[A-Z]{4,12}$/),
  text: words,
});
const statement = fc.record({
  account: fc.stringMatching(/^[1-9]\d{10}$/),
  opening: fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }),
  movements: fc.array(rendered, { maxLength: 5 }),
});
type Statement = typeof statement extends fc.Arbitrary<infer T> ? T : never;

const closingOf = ({ opening, movements }: Statement) =>
  movements.reduce((sum, { value }) => sum + value, opening);

const render = (it: Statement): string[] => [
  balance('01', it.opening, { account: it.account }),
  ...it.movements.flatMap(({ value, code, label, text }) => [
    movement({ value, code, label, account: it.account }),
    detail('LIB', text, { account: it.account }),
  ]),
  balance('07', closingOf(it), { account: it.account, date: '020326' }),
];

export const renderedCfonb120: fc.Arbitrary<Rendered> = fc
  .record({
    statements: fc.array(statement, { minLength: 1, maxLength: 3 }),
    end: fc.constantFrom('\n', '\r\n', '\r', '\n\n', ''),
    isTrimmed: fc.boolean(),
  })
  .map(({ statements, end, isTrimmed }) => {
    const records = statements.flatMap(render);
    const lines = isTrimmed && end !== '' ? records.map((line) => line.trimEnd()) : records;
    return {
      text: lines.map((line) => line + end).join(''),
      entries: statements.flatMap(({ movements }) =>
        movements.map(({ value, code, label, text }) => ({
          dc: value < 0n ? ('Debit' as const) : ('Credit' as const),
          amount: 10n * (value < 0n ? -value : value),
          code,
          reference: null,
          description: `${label} ${text}`,
          date: '2026-03-02',
        })),
      ),
      statements: statements.map((it) => ({
        number: ribOf('30004', '00805', it.account),
        closing: 10n * closingOf(it),
      })),
    };
  });
