import fc from 'fast-check';
import { formatAmount } from '../../../packages/statements/src/amounts.ts';
import type { Rendered } from '../rendered.ts';

const date = fc
  .date({ min: new Date('1980-01-01'), max: new Date('2079-12-31'), noInvalidDate: true })
  .map((day) => day.toISOString().slice(0, 10));
/** Text that has no blanks at its ends. Blanks inside of it stay. */
const text = fc
  .string({ unit: fc.constantFrom(...'aZ9 ğİ€&<>;/.,-\'"()#{}[]:'), maxLength: 40 })
  .map((value) => value.trim())
  .filter((value) => value !== '');
const movement = fc.record({
  date,
  dc: fc.constantFrom('Debit' as const, 'Credit' as const),
  amount: fc.bigInt({ min: 1n, max: 10n ** 18n }).map((cents) => 10n * cents),
  reference: fc.stringMatching(/^[\w-]{1,30}$/),
  description: text,
  name: text,
});
type Movement = typeof movement extends fc.Arbitrary<infer T> ? T : never;

const style = fc.record({
  /** XML closes each value. */
  closes: fc.boolean(),
  decimalSign: fc.constantFrom('.', ','),
  /** Between two tags. */
  between: fc.constantFrom('', '\n', '\r\n', '\n\t'),
  time: fc.constantFrom('', '120000', '235959.999[-11:SST]', '000000[+14]'),
});

type Style = typeof style extends fc.Arbitrary<infer T> ? T : never;

const escapeText = (value: string) =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function render(movements: readonly Movement[], { closes, decimalSign, between, time }: Style): string {
  const value = (name: string, content: string) =>
    `<${name}>${content}${closes ? `</${name}>` : ''}${between}`;
  const list = movements.map(
    (it) =>
      `<STMTTRN>${between}${value('TRNTYPE', 'OTHER')}${value('DTPOSTED', it.date.replaceAll('-', '') + time)}` +
      value(
        'TRNAMT',
        `${it.dc === 'Debit' ? '-' : ''}${formatAmount(it.amount, null).replace('.', decimalSign)}`,
      ) +
      `${value('FITID', it.reference)}${value('NAME', escapeText(it.name))}${value('MEMO', escapeText(it.description))}</STMTTRN>${between}`,
  );
  return (
    `OFXHEADER:100${between}<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS>${value('CURDEF', 'TRY')}<BANKACCTFROM>${value('ACCTID', '17')}` +
    `</BANKACCTFROM><BANKTRANLIST>${between}${list.join('')}</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>`
  );
}

/** Files in SGML and in XML. */
export const renderedOfx: fc.Arbitrary<Rendered> = fc
  .tuple(fc.array(movement, { maxLength: 5 }), style)
  .map(([movements, how]) => ({
    text: render(movements, how),
    entries: movements,
    statements: [{ number: '17', closing: null }],
  }));
