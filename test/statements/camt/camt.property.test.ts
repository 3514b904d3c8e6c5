import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../src/statements/statement.ts';
import { formatAmount } from '../../../src/statements/values.ts';
import { entries, ofType, parse, readFiles } from './events.ts';

const samples = [...readFiles(new URL('../../samples/camt/', import.meta.url)).values()];

const cuts = fc.array(fc.oneof({ weight: 3, arbitrary: fc.nat(5) }, fc.nat(400)), { maxLength: 60 });

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
  amount: fc.bigInt(0n, 10n ** 20n - 1n),
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
      element('Amt', formatAmount(it.amount), ` Ccy="${it.currency}"`) +
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

describe('any statement', () => {
  it('gives back the movements that it was written from, however its text is split', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(movement, { maxLength: 6 }), style, cuts, async (movements, how, lengths) => {
        const events = await parse(render(movements, how), lengths);
        expect(entries(events).map(({ line: _, balance: __, ...entry }) => entry)).toEqual(movements);
        expect(events).toHaveLength(movements.length + 2);
      }),
      { numRuns: 300 },
    );
  });

  it('gives the same events, with the same lines, however its text is split', async () => {
    const sample = fc.constantFrom(...samples);
    await fc.assert(
      fc.asyncProperty(sample, cuts, async (file, lengths) => {
        expect(await parse(file, lengths)).toEqual(await parse(file));
      }),
      { numRuns: 200 },
    );
  });
});

describe('a damaged file', () => {
  const damaged = fc.constantFrom(...samples).chain((file) =>
    fc.record({
      file: fc.constant(file),
      at: fc.nat(file.length - 1),
      length: fc.integer({ min: 1, max: 300 }),
    }),
  );

  it('that is cut off keeps the entries before, unchanged, and has an issue', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, cuts, async ({ file, at }, lengths) => {
        const before = file.slice(0, at);
        const events = await parse(before, lengths);
        const whole = entries(await parse(file));
        const read = entries(events);
        expect(read).toEqual(whole.slice(0, read.length));
        expect(ofType(events, 'issue').length).toBeGreaterThanOrEqual(file.trimEnd().length > at ? 1 : 0);
      }),
      { numRuns: 300 },
    );
  });

  it('in whose markup a character is another one has the same total, or an issue', async () => {
    const character = fc.constantFrom(...'<>/="\'&;x0 !?-\u0000\uD800');
    await fc.assert(
      fc.asyncProperty(damaged, character, async ({ file, at }, other) => {
        const start = file.lastIndexOf('<', at);
        const isMarkup = start >= 0 && at <= file.indexOf('>', start) && !file.startsWith('<!--', start);
        fc.pre(isMarkup);
        const events = await parse(file.slice(0, at) + other + file.slice(at + 1));
        if (ofType(events, 'issue').length > 0) return;
        // Without a currency, a batch is not divided, but its amount is the same.
        const total = (of: readonly Entry[]) =>
          of.reduce((sum, { dc, amount }) => (dc === 'Credit' ? sum + amount : sum - amount), 0n);
        expect(total(entries(events))).toBe(total(entries(await parse(file))));
      }),
      { numRuns: 1_000 },
    );
  });

  it('with a part repeated or missing is read to an end, and every statement has one', async () => {
    const change = fc.constantFrom(
      (part: string) => part + part,
      () => '',
      (part: string) => Array.from(part).reverse().join(''),
    );
    await fc.assert(
      fc.asyncProperty(damaged, change, async ({ file, at, length }, apply) => {
        const part = file.slice(at, at + length);
        const events = await parse(file.slice(0, at) + apply(part) + file.slice(at + length));
        let isOpen = false;
        for (const { type } of events) {
          if (type === 'statement') expect(isOpen).toBe(false);
          if (type === 'entry' || type === 'end') expect(isOpen).toBe(true);
          isOpen = type === 'statement' || (isOpen && type !== 'end');
        }
        expect(isOpen).toBe(false);
        for (const { amount, date } of entries(events)) {
          expect(amount >= 0n).toBe(true);
          expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
        }
      }),
      { numRuns: 500 },
    );
  });
});
