import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Contents, count, read } from './read.ts';
import { type File, file, isoDate, type Movement, render, signed } from './render.ts';

const SEED = 20_261_122;

function expectedEntry(movement: Movement) {
  const { valueDay, bookedAfter, style, description, name, iban, own, bank } = movement;
  const hasCounterparty = style !== 'free text';
  return {
    status: 'booked',
    date: isoDate(valueDay + (bookedAfter ?? 0)),
    dc: movement.mark === 'C' || movement.mark === 'RD' ? 'Credit' : 'Debit',
    amount: movement.cents,
    code: 'NTRF',
    reference: bank ?? own,
    description,
    name: hasCounterparty ? name : null,
    opponentIban: hasCounterparty ? iban : null,
    opponentId: null,
  };
}

describe('any rendered file', () => {
  it('gives the movements that it was rendered from, however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(file, async (content) => {
        const contents = await read(render(content), content.cuts);
        expect(contents.entries).toMatchObject(content.statements.flat().map(expectedEntry));
        expect(count(contents)).toEqual({
          statements: content.statements.length,
          entries: content.statements.flat().length,
          issues: 0,
          warnings: 0,
          off: 0,
        });
        expect(contents.statements.map(({ account }) => account.number)).toEqual(
          content.statements.map((_, index) => `${index}`),
        );
        if (!content.interim)
          expect(contents.ends.map(({ closing }) => closing?.amount)).toEqual(
            content.statements.map((all) => all.reduce((sum, each) => sum + signed(each), 1000n)),
          );
      }),
      { numRuns: 500, seed: SEED },
    );
  });

  it('is read the same in one part as in parts of one character', async () => {
    await fc.assert(
      fc.asyncProperty(file, async (content) => {
        const text = render(content);
        const whole = await read(text);
        expect((await read(text, Array(text.length).fill(1))).events).toEqual(whole.events);
      }),
      { numRuns: 50, seed: SEED },
    );
  });
});

type Damage = (text: string) => string;
const at = (share: number, text: string) => Math.floor(share * text.length);
const share = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const damage: fc.Arbitrary<Damage> = fc.oneof(
  // Cut off the end.
  share.map((where) => (text: string) => text.slice(0, at(where, text))),
  // Cut out a piece.
  fc.tuple(share, fc.nat(200)).map(([where, length]) => (text: string) => {
    const start = at(where, text);
    return text.slice(0, start) + text.slice(start + length);
  }),
  // Flip a bit.
  fc.tuple(share, fc.nat(7)).map(([where, bit]) => (text: string) => {
    const index = at(where, text);
    const flipped = String.fromCharCode(text.charCodeAt(index) ^ (1 << bit));
    return text.slice(0, index) + flipped + text.slice(index + 1);
  }),
  // Repeat a piece.
  fc
    .tuple(share, fc.nat(200), fc.integer({ min: 1, max: 50 }))
    .map(([where, length, times]) => (text: string) => {
      const start = at(where, text);
      return text.slice(0, start) + text.slice(start, start + length).repeat(times) + text.slice(start);
    }),
  // Put something in.
  fc
    .tuple(
      share,
      fc.constantFrom('\n', '\r', ':', '-', '-\n', ':61:', ':86:', ':62F:', ':20:', ',', '.', '\0', '{1:'),
    )
    .map(([where, piece]) => (text: string) => {
      const start = at(where, text);
      return text.slice(0, start) + piece + text.slice(start);
    }),
);

/** Reads :61: in another way: the number after C or D, in hundredths; null if it is not a plain one. */
function amountAt(lines: readonly string[], line: number): bigint | null {
  const text = `${lines[line - 1]}${lines[line] ?? ''}`;
  const [, units, fraction = ''] =
    /61:\d{6,10} *[RE]?[CD][A-Z]? *(\d*)(?:[,.](\d*))? *[A-Z]/.exec(text) ?? [];
  if (units === undefined || /[1-9]/.test(fraction.slice(2))) return null;
  return BigInt(`${units}${fraction.slice(0, 2).padEnd(2, '0')}`);
}

/** Events are nested: a statement, its entries, its end. */
function expectNested({ events }: Contents): void {
  let isOpen = false;
  for (const { type } of events) {
    if (type === 'statement') expect(isOpen).toBe(false);
    if (type === 'entry' || type === 'issue' || type === 'end') expect(isOpen).toBe(true);
    if (type === 'statement') isOpen = true;
    if (type === 'end') isOpen = false;
  }
  expect(isOpen).toBe(false);
}

describe('any damaged file', () => {
  it('yields an entry or an issue for each :61:, and no other amount than the one that stands there', async () => {
    await fc.assert(
      fc.asyncProperty(
        file,
        fc.array(damage, { minLength: 1, maxLength: 4 }),
        async (content: File, damages) => {
          const text = damages.reduce((damaged, apply) => apply(damaged), render(content));
          const contents = await read(text, content.cuts);
          const lines = text.split(/\r\n|[\r\n]/);
          const begun = lines.filter((line) => /^(?:[^\w\s:]{1,3}4:|.*\{4:)?:61:/.test(line)).length;
          // A tag that was cut in two behind its first colon is read too.
          const cutInTwo = lines.filter(
            (line, index) => line.startsWith('61:') && lines[index - 1] === ':',
          ).length;
          const found = contents.entries.length + contents.issues.length;
          expect(found).toBeGreaterThanOrEqual(begun);
          expect(found).toBeLessThanOrEqual(begun + cutInTwo);
          for (const { line, amount } of contents.entries) expect(amount).toBe(amountAt(lines, line));
          expectNested(contents);
        },
      ),
      { numRuns: 2000, seed: SEED },
    );
  });

  it('that ends early yields what stands before that, and says that it ends early', async () => {
    await fc.assert(
      fc.asyncProperty(file, share, async (content, where) => {
        const text = render({ ...content, interim: false });
        const before = await read(text);
        const length = at(where, text);
        const after = await read(text.slice(0, length));
        const known = before.entries.map(({ date, dc, amount }) => ({ date, dc, amount }));
        expect(after.entries).toMatchObject(known.slice(0, after.entries.length));
        expect(after.issues.length).toBeLessThanOrEqual(1);
        const isComplete = after.ends.every(({ closing }) => closing !== null);
        expect(after.warnings.length > 0).toBe(!isComplete);
      }),
      { numRuns: 500, seed: SEED },
    );
  });

  it('any text is read without an error', async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ':20:',
        ':25:',
        ':60F:',
        ':61:',
        ':62F:',
        ':86:',
        ':34F:',
        ':NS:',
        '\n',
        '\r',
        '-',
        '{1:',
        '{4:',
      ),
      fc.constantFrom(
        '261131',
        '1131',
        'C',
        'RD',
        '12,34',
        'NTRF',
        'NONREF',
        '//',
        '166?20',
        '/REMI/',
        'SVWZ+',
        ' ',
      ),
      fc.string({ unit: 'binary', maxLength: 20 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 60 }), async (pieces) => {
        expectNested(await read(pieces.join('')));
      }),
      { numRuns: 2000, seed: SEED },
    );
  });
});
