import fc from 'fast-check';
import { formatAmount } from '../../../packages/statements/src/amounts.ts';
import type { Rendered } from '../rendered.ts';

/** Without spaces at the ends or in a row, which are not kept, and without characters that XML has not. */
const text = fc
  .array(fc.constantFrom('a', 'Ğ', 'ß', '7', '<', '>', '&', '"', "'", ']]>', '😀', '-'), {
    minLength: 1,
    maxLength: 12,
  })
  .map((parts) => parts.join(''));

const movement = fc.record({
  status: fc.constantFrom('booked' as const, 'pending' as const),
  date: fc
    .date({ min: new Date('1990-01-01'), max: new Date('2089-12-31'), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
  dc: fc.constantFrom('Debit' as const, 'Credit' as const),
  amount: fc.bigInt(0n, 10n ** 21n - 1n),
  currency: fc.constantFrom('EUR', 'TRY', 'JPY'),
  description: fc.option(text),
  name: fc.option(text),
  opponentIban: fc.option(fc.constantFrom('NL91ABNA0417164300', 'X1')),
  opponentId: fc.option(text),
  reference: fc.option(text.map((it) => `R${it}`)),
  code: fc.option(fc.constantFrom('PMNT-RCDT-ESCT', 'PMNT')),
});

type Movement = typeof movement extends fc.Arbitrary<infer M> ? M : never;

const style = fc.record({
  prefix: fc.constantFrom('', 'n:'),
  isNew: fc.boolean(),
  space: fc.constantFrom('', '\n  ', '\r\n\t'),
  isCdata: fc.boolean(),
});

type Style = typeof style extends fc.Arbitrary<infer S> ? S : never;

function render(movements: readonly Movement[], { prefix, isNew, space, isCdata }: Style): string {
  const element = (path: string, content: string | null, attribute = ''): string =>
    path.split('/').reduceRight((inner, name, at, names) => {
      if (content === null) return '';
      const attributes = at === names.length - 1 ? attribute : '';
      return `${space}<${prefix}${name}${attributes}>${inner}</${prefix}${name}>`;
    }, content ?? '');
  const escapeText = (plain: string | null) => {
    if (plain === null) return null;
    if (isCdata) return `<![CDATA[${plain.replaceAll(']]>', ']]]]><![CDATA[>')}]]>`;
    return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&#62;');
  };
  const rendered = movements.map((it) => {
    const side = it.dc === 'Credit' ? 'Dbtr' : 'Cdtr';
    const [domain = null, family = null, sub = null] = it.code?.split('-') ?? [];
    const status = it.status === 'booked' ? 'BOOK' : 'PDNG';
    const detail =
      element(`RltdPties/${side}${isNew ? '/Pty' : ''}/Nm`, escapeText(it.name)) +
      element(`RltdPties/${side}Acct/Id/IBAN`, it.opponentIban) +
      element(`RltdPties/${side}Acct/Id/Othr/Id`, escapeText(it.opponentId)) +
      element('RmtInf/Ustrd', escapeText(it.description));
    return element(
      'Ntry',
      element('Amt', formatAmount(it.amount, null), ` Ccy="${it.currency}"`) +
        element('CdtDbtInd', it.dc === 'Credit' ? 'CRDT' : 'DBIT') +
        element(isNew ? 'Sts/Cd' : 'Sts', status) +
        element(isNew ? 'BookgDt/DtTm' : 'BookgDt/Dt', isNew ? `${it.date}T23:30:00-05:00` : it.date) +
        element('AcctSvcrRef', escapeText(it.reference)) +
        element('BkTxCd/Domn/Cd', domain) +
        element('BkTxCd/Domn/Fmly/Cd', family) +
        element('BkTxCd/Domn/Fmly/SubFmlyCd', sub) +
        element('NtryDtls/TxDtls', detail),
    );
  });
  return element('Document/BkToCstmrStmt/Stmt', rendered.join(''));
}

export const renderedCamt: fc.Arbitrary<Rendered> = fc
  .tuple(fc.array(movement, { maxLength: 6 }), style)
  .map(([movements, how]) => ({
    text: render(movements, how),
    entries: movements.map((it) => ({ ...it, details: undefined })),
    statements: [{ number: null, closing: null }],
  }));
