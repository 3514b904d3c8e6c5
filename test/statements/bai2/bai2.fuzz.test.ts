import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBai2 } from '../../../src/statements/bai2/parse.ts';
import { balanceDifferences, countOf, entriesOf, readEvents } from '../statement-events.ts';

const FOLDER = new URL('../../samples/bai2/', import.meta.url);
const SAMPLES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.bai'))
  .map((name) => readFileSync(new URL(name, FOLDER), 'utf8'));

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

function render(
  movements: readonly Movement[],
  opening: bigint,
  end: string,
  closes: boolean,
  splitAt: number,
): string {
  const closing = movements.reduce((sum, it) => (isDebit(it) ? sum - it.amount : sum + it.amount), opening);
  const total = movements.reduce((sum, { amount }) => sum + amount, opening + closing);
  const details = movements.flatMap((it) => renderMovement(it, splitAt));
  const slash = closes ? '/' : '';
  const records = details.length + 2;
  return [
    `01,BANKEX,ACME,260302,0600,1,,,2${slash}`,
    `02,ACME,BANKEX,1,260301,,USD,2${slash}`,
    `03,17,,010,${opening},,,015,${closing},,${slash}`,
    ...details.map((line) => (closes ? line.replace(/\/?$/, '/') : line)),
    `49,${total},${records}${slash}`,
    `98,${total},1,${records + 2}${slash}`,
    `99,${total},1,${records + 4}${slash}`,
    '',
  ].join(end);
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 20 });

describe('any movements', () => {
  it('are the same after rendering and parsing, with balances and totals that are right, in any split', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(movement, { maxLength: 6 }),
        fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }),
        fc.constantFrom('\n', '\r\n', '\r', '\n\n', ' '),
        fc.boolean(),
        fc.integer({ min: 3, max: 12 }),
        sizes,
        async (movements, opening, end, closes, splitAt, split) => {
          // Records on one line need their closing slashes.
          const text = render(movements, opening, end, closes || end === ' ', splitAt);
          const events = await readEvents(parseBai2, text, split);
          expect(
            entriesOf(events).map(({ dc, code, amount, reference, description, date }) => ({
              dc,
              code,
              amount,
              reference,
              description,
              date,
            })),
          ).toEqual(
            movements.map((it) => ({
              dc: isDebit(it) ? 'Debit' : 'Credit',
              code: it.code,
              amount: it.amount,
              reference: it.reference,
              description: it.text.join(' '),
              date: '2026-03-01',
            })),
          );
          expect(events.filter(({ type }) => type === 'issue' || type === 'warning')).toEqual([]);
          expect(balanceDifferences(events)).toEqual([0n]);
        },
      ),
    );
  });

  it('give the same events in any split', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...SAMPLES),
        fc.constantFrom('\n', '\r\n', '\r'),
        sizes,
        async (file, end, split) => {
          const text = file.replaceAll('\n', end);
          expect(await readEvents(parseBai2, text, split)).toEqual(await readEvents(parseBai2, file));
        },
      ),
    );
  });
});

describe('a damaged file', () => {
  const position = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  it('that is cut anywhere yields only amounts of the whole file, and says that it is cut', async () => {
    for (const file of SAMPLES) {
      const whole = entriesOf(await readEvents(parseBai2, file)).map(({ amount, dc, date }) => ({
        amount,
        dc,
        date,
      }));
      for (let length = 0; length < file.trimEnd().length - 1; length += 1) {
        const events = await readEvents(parseBai2, file.slice(0, length));
        const entries = entriesOf(events).map(({ amount, dc, date }) => ({ amount, dc, date }));
        expect(entries, `${length}`).toEqual(whole.slice(0, entries.length));
        if (!/(?:^|\/)99/m.test(file.slice(0, length)))
          expect(countOf(events, 'issue') + countOf(events, 'warning'), `${length}`).toBeGreaterThan(0);
      }
    }
  });

  it('with a changed digit of an amount says that totals differ', async () => {
    const file = readFileSync(new URL('two-accounts.bai', FOLDER), 'utf8');
    for (const match of file.matchAll(/^16,\d{3},(\d+)/gm)) {
      const at = match.index + match[0].length - 1;
      const events = await readEvents(parseBai2, `${file.slice(0, at)}7${file.slice(at + 1)}`);
      expect(countOf(events, 'warning'), match[0]).toBeGreaterThan(0);
    }
  });

  it('with a damaged record code loses no transaction without an issue', async () => {
    const file = readFileSync(new URL('two-accounts.bai', FOLDER), 'utf8');
    const count = entriesOf(await readEvents(parseBai2, file)).length;
    for (const match of file.matchAll(/^16,/gm)) {
      for (const damaged of ['1X,', '61,', 'X16,', ',']) {
        const events = await readEvents(
          parseBai2,
          file.slice(0, match.index) + damaged + file.slice(match.index + 3),
        );
        expect(entriesOf(events).length, `${match.index} ${damaged}`).toBe(count - 1);
        expect(countOf(events, 'issue'), `${match.index} ${damaged}`).toBe(1);
      }
    }
  });

  it('with flipped, repeated and removed characters is read to its end', async () => {
    const change = fc.record({
      at: position,
      length: fc.integer({ min: 0, max: 50 }),
      inserted: fc.string({ unit: fc.constantFrom(...'01688493,/-+SVDZ \n\r\0ğ'), maxLength: 5 }),
      times: fc.integer({ min: 0, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...SAMPLES),
        fc.array(change, { minLength: 1, maxLength: 5 }),
        sizes,
        async (file, changes, split) => {
          let damaged = file;
          for (const { at, length, inserted, times } of changes) {
            const start = Math.floor(damaged.length * at);
            const piece = damaged.slice(start, start + length);
            damaged =
              damaged.slice(0, start) + piece.repeat(times) + inserted + damaged.slice(start + length);
          }
          const events = await readEvents(parseBai2, damaged, split);
          for (const entry of entriesOf(events))
            expect(entry.amount >= 0n && /^\d{4}-\d\d-\d\d$/.test(entry.date)).toBe(true);
          expect(countOf(events, 'end')).toBe(countOf(events, 'statement'));
        },
      ),
    );
  });

  it.each(['1', ',', '/', ' ', '/ ', '\n', '88,', '/88,', '/16,195', '16,195,1,D,9999,', 'x,', '\r'])(
    'that repeats %j is read to its end',
    async (piece) => {
      const head = '01,A,B,260302,0600,1,,,2/\n02,A,B,1,260301,,,2/\n03,17,,,,,/\n16,195,1';
      for (const start of [head, `${head},,,,`]) {
        const events = await readEvents(parseBai2, start + piece.repeat(300_000 / piece.length), [1_000]);
        expect(countOf(events, 'end')).toBe(1);
      }
    },
  );
});
