import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseOfx } from '../../../src/statements/ofx/parse.ts';
import { formatAmount } from '../../../src/statements/values.ts';
import { countOf, entriesOf, readEvents } from '../statement-events.ts';

const SAMPLES = ['checking.ofx', 'card-and-pending.ofx', 'refused-sign-on.qfx'].map((name) =>
  readFileSync(new URL(`../../samples/ofx/${name}`, import.meta.url), 'utf8'),
);

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
  amount: fc.bigInt({ min: 1n, max: 10n ** 18n }),
  reference: fc.stringMatching(/^[\w-]{1,30}$/),
  description: text,
  name: text,
});
type Movement = typeof movement extends fc.Arbitrary<infer T> ? T : never;

interface Style {
  /** XML closes each value. */
  closes: boolean;
  decimalSign: string;
  /** Between two tags. */
  between: string;
  time: string;
}
const style: fc.Arbitrary<Style> = fc.record({
  closes: fc.boolean(),
  decimalSign: fc.constantFrom('.', ','),
  between: fc.constantFrom('', '\n', '\r\n', '\n\t'),
  time: fc.constantFrom('', '120000', '235959.999[-11:SST]', '000000[+14]'),
});

const escapeText = (value: string) =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function render(movements: readonly Movement[], { closes, decimalSign, between, time }: Style): string {
  const value = (name: string, content: string) =>
    `<${name}>${content}${closes ? `</${name}>` : ''}${between}`;
  const list = movements.map(
    (it) =>
      `<STMTTRN>${between}${value('TRNTYPE', 'OTHER')}${value('DTPOSTED', it.date.replaceAll('-', '') + time)}` +
      value('TRNAMT', `${it.dc === 'Debit' ? '-' : ''}${formatAmount(it.amount).replace('.', decimalSign)}`) +
      `${value('FITID', it.reference)}${value('NAME', escapeText(it.name))}${value('MEMO', escapeText(it.description))}</STMTTRN>${between}`,
  );
  return (
    `OFXHEADER:100${between}<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS>${value('CURDEF', 'TRY')}<BANKACCTFROM>${value('ACCTID', '17')}` +
    `</BANKACCTFROM><BANKTRANLIST>${between}${list.join('')}</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>`
  );
}

const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 20 });

describe('any movements', () => {
  it('are the same after rendering and parsing, in SGML and XML, in any split', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(movement, { maxLength: 5 }), style, sizes, async (movements, how, split) => {
        const events = await readEvents(parseOfx, render(movements, how), split);
        const read = entriesOf(events).map(({ date, dc, amount, reference, description, name }) => ({
          date,
          dc,
          amount,
          reference,
          description,
          name,
        }));
        expect(read).toEqual(movements);
        expect(countOf(events, 'issue') + countOf(events, 'warning')).toBe(0);
      }),
    );
  });

  it('give the same events in any split', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...SAMPLES), sizes, async (file, split) => {
        expect(await readEvents(parseOfx, file, split)).toEqual(await readEvents(parseOfx, file));
      }),
    );
  });
});

describe('a damaged file', () => {
  const cut = (file: string, at: number) => file.slice(0, Math.floor(file.length * at));
  const position = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  it('that is cut anywhere yields only entries of the whole file, and says that it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...SAMPLES), position, async (file, at) => {
        const whole = entriesOf(await readEvents(parseOfx, file));
        const events = await readEvents(parseOfx, cut(file.trimEnd(), at));
        const entries = entriesOf(events);
        expect(entries).toEqual(whole.slice(0, entries.length));
        expect(countOf(events, 'issue') + countOf(events, 'warning')).toBeGreaterThan(0);
      }),
    );
  });

  it('whose tags are damaged loses no transaction without an issue', async () => {
    const tag = /<\/?STMTTRN>|<TRNAMT>|<DTPOSTED>/g;
    const file = (SAMPLES[0] as string)
      .replace(/<!--[\s\S]*?-->/g, '')
      .replace('<CHECKNUM>000319', '<CHECKNUM>000319</STMTTRN>');
    const whole = (await readEvents(parseOfx, file)).filter(
      ({ type }) => type === 'entry' || type === 'issue',
    ).length;
    for (const match of file.matchAll(tag)) {
      const damaged = `${file.slice(0, match.index + 2)}#${file.slice(match.index + 3)}`;
      const events = await readEvents(parseOfx, damaged);
      const lost = entriesOf(await readEvents(parseOfx, file)).length - entriesOf(events).length;
      // One issue is in the file itself.
      if (lost > 0) expect(countOf(events, 'issue'), match[0]).toBeGreaterThan(1);
      expect(entriesOf(events).length + countOf(events, 'issue'), match[0]).toBeGreaterThanOrEqual(whole - 1);
    }
  });

  it('with flipped, repeated and removed characters is read to its end', async () => {
    const change = fc.record({
      at: position,
      length: fc.integer({ min: 0, max: 50 }),
      with: fc.string({ unit: fc.constantFrom(...'<>/&;#!?[]-0x9, \n\r\0ğ'), maxLength: 5 }),
      times: fc.integer({ min: 0, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...SAMPLES),
        fc.array(change, { minLength: 1, maxLength: 5 }),
        sizes,
        async (file, changes, split) => {
          let damaged = file;
          for (const { at, length, with: inserted, times } of changes) {
            const start = Math.floor(damaged.length * at);
            const piece = damaged.slice(start, start + length);
            damaged =
              damaged.slice(0, start) + piece.repeat(times) + inserted + damaged.slice(start + length);
          }
          const events = await readEvents(parseOfx, damaged, split);
          for (const entry of entriesOf(events))
            expect(entry.amount >= 0n && /^\d{4}-\d\d-\d\d$/.test(entry.date)).toBe(true);
          expect(countOf(events, 'end')).toBe(countOf(events, 'statement'));
        },
      ),
    );
  });

  it.each([
    ['tags that do not end', '<A'],
    ['brackets', '<'],
    ['comments that do not end', '<!--'],
    ['CDATA that does not end', '<![CDATA['],
    ['ampersands', '&'],
    ['blanks', ' '],
    ['line ends', '\n'],
    ['open aggregates', '<STMTTRN><PAYEE>'],
    ['closing tags', '</STMTTRN>'],
    ['digits', '1'],
  ])('of %s, repeated, is read to its end', async (_, piece) => {
    const head = '<OFX><STMTRS><STMTTRN><TRNAMT>';
    const events = await readEvents(parseOfx, head + piece.repeat(300_000 / piece.length), [1_000]);
    expect(entriesOf(events)).toEqual([]);
  });
});
