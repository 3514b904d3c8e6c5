import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderFile, TEXT_FORMATS, type TextFormat } from '../../bench/statement-files.ts';
import { createStatementFormats, STATEMENT_FORMATS } from '../../packages/statements/src/formats.ts';
import type { Entry, StatementEvent } from '../../packages/statements/src/statement.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { loadProfiles } from '../../src/intake/load-profiles.ts';
import { FORMATS } from './format-table.ts';
import type { File } from './rendered.ts';
import { balanceDifferences, countOf, entriesOf, readEvents } from './statement-events.ts';

/** `npm run test:faults` tries six times as much. */
const TIMES = Number(process.env.TIMES ?? 1);

it('each format is in the table of formats except XLSX, which has its own tests', () => {
  const names = FORMATS.map(({ name }) => name);
  expect(names.toSorted()).toEqual(STATEMENT_FORMATS.filter((it) => it !== 'xlsx').toSorted());
});

/** Where a text is split: mostly into small parts. */
const splits = fc.array(
  fc.oneof({ weight: 3, arbitrary: fc.nat(5) }, { weight: 2, arbitrary: fc.nat(80) }, fc.nat(400)),
  { maxLength: 60 },
);

const share = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });

const flip = (text: string, bit: number) =>
  text === '' ? '' : String.fromCharCode(text.charCodeAt(0) ^ (1 << bit)) + text.slice(1);

/**
 * Makes one to five changes to a file: it is cut off, or a piece of it is removed, repeated, reversed or changed, and marks are put in.
 * A half of a surrogate pair is replaced, as decoders do.
 */
function damage(files: fc.Arbitrary<File>, marks: readonly string[]): fc.Arbitrary<File> {
  const change = fc.record({
    at: share,
    length: fc.oneof(fc.constant(0), fc.nat(12), fc.nat(300)),
    edit: fc.oneof(
      fc.constant((piece: string) => piece),
      fc.oneof(fc.nat(3), fc.nat(50)).map((times) => (piece: string) => piece.repeat(times)),
      fc.constant((piece: string) => Array.from(piece).reverse().join('')),
      fc.nat(7).map((bit) => (piece: string) => flip(piece, bit)),
    ),
    inserted: fc.array(fc.constantFrom(...marks), { maxLength: 5 }).map((all) => all.join('')),
    isCutOff: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
  });
  return fc.tuple(files, fc.array(change, { minLength: 1, maxLength: 5 })).map(([file, changes]) => {
    let damaged = file.text;
    for (const { at, length, edit, inserted, isCutOff } of changes) {
      const start = Math.floor(damaged.length * at);
      const end = isCutOff ? damaged.length : start + length;
      const piece = isCutOff ? '' : edit(damaged.slice(start, end));
      damaged = damaged.slice(0, start) + piece + inserted + damaged.slice(end);
    }
    return { ...file, text: damaged.toWellFormed() };
  });
}

/** Statements are not nested, each statement ends, entries are within statements, and each entry has a possible amount and date. */
function expectPossible(events: readonly StatementEvent[]): void {
  let isOpen = false;
  for (const event of events) {
    if (event.type === 'statement') expect(isOpen).toBe(false);
    if (event.type === 'entry' || event.type === 'end') expect(isOpen).toBe(true);
    isOpen = event.type === 'statement' || (isOpen && event.type !== 'end');
  }
  expect(isOpen).toBe(false);
  for (const { amount, date } of entriesOf(events)) {
    expect(amount >= 0n).toBe(true);
    expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  }
}

/** The events without the places and messages of errors. */
const withoutErrors = (events: readonly StatementEvent[]) =>
  events.map((event) => (event.type === 'entry' ? event.entry : event.type));

describe.each(FORMATS)('a file in $name', (format) => {
  const { samples, rendered, marks, beginnings, checkAny, checkDamaged, checkCut } = format;
  const read = ({ text, parse = format.parse }: File, sizes: readonly number[] = []) =>
    readEvents(parse, text, sizes);
  const anyFile: fc.Arbitrary<File> = fc.oneof(fc.constantFrom(...samples), rendered);
  const anyText = fc
    .record({
      beginning: fc.constantFrom('', ...beginnings),
      pieces: fc.array(
        fc.oneof(
          { weight: 3, arbitrary: fc.constantFrom(...marks) },
          fc.string({ unit: 'binary', maxLength: 20 }),
        ),
        { maxLength: 100 },
      ),
    })
    .map(({ beginning, pieces }) => beginning + pieces.join(''));

  it('gives the movements and balances that it was made from, for any split', () =>
    fc.assert(
      fc.asyncProperty(rendered, splits, async (file, sizes) => {
        const events = await read(file, sizes);
        const entries = entriesOf(events);
        const compared = entries.map((entry, at) => {
          const keys = Object.keys(file.entries[at] ?? {}) as (keyof Entry)[];
          return Object.fromEntries(keys.map((key) => [key, entry[key]]));
        });
        expect(compared).toEqual(file.entries);
        expectPossible(events);
        expect(countOf(events, 'issue') + countOf(events, 'warning')).toBe(0);
        const statements = events.flatMap((it) => (it.type === 'statement' ? [it.account.number] : []));
        const closings = events.flatMap((it) => (it.type === 'end' ? [it.closing?.amount ?? null] : []));
        expect(statements).toEqual(file.statements.map(({ number }) => number));
        expect(closings).toEqual(file.statements.map(({ closing }) => closing));
        const withBalances = closings.filter((closing) => closing !== null);
        expect(balanceDifferences(events)).toEqual(withBalances.map(() => 0n));
      }),
      { numRuns: 100 * TIMES },
    ));

  it('gives the same events for any split', () =>
    fc.assert(
      fc.asyncProperty(anyFile, splits, async (file, sizes) => {
        const whole = await read(file);
        expect(await read(file, sizes)).toEqual(whole);
        expect(await read(file, [1])).toEqual(whole);
      }),
      { numRuns: 80 * TIMES },
    ));

  it.each(['\n', '\r\n', '\r'])('gives the same events when its lines end with %j', async (end) => {
    for (const file of samples) {
      const whole = await read(file);
      for (const size of [1, 7, 100_000])
        expect(await read({ ...file, text: file.text.replaceAll(/\r?\n/g, end) }, [size])).toEqual(whole);
    }
  });

  if (checkCut !== undefined)
    it('that is cut off has the entries before the cut, and reports the cut', async () => {
      const expectCut = async (file: File, whole: readonly StatementEvent[], length: number) => {
        const text = file.text.slice(0, length).toWellFormed();
        const events = await read({ ...file, text }, [1 + (length % 60)]);
        const entries = entriesOf(events);
        const before = entriesOf(whole).slice(0, entries.length);
        const whatStays = (all: readonly Entry[]) =>
          all.map((entry, at) => {
            const { date, dc, amount } = entry;
            return format.cutsText && at === entries.length - 1 ? { date, dc, amount } : entry;
          });
        expect(whatStays(entries), text).toEqual(whatStays(before));
        expectPossible(events);
        checkCut(text, events, whole);
      };
      for (const file of samples) {
        const whole = await read(file);
        for (let length = 0; length < file.text.trimEnd().length; length += 1)
          await expectCut(file, whole, length);
      }
      await fc.assert(
        fc.asyncProperty(rendered, share, async (file, at) =>
          expectCut(file, await read(file), Math.floor(file.text.trimEnd().length * at)),
        ),
        { numRuns: 100 * TIMES },
      );
    });

  it('that is damaged is read to its end', () =>
    fc.assert(
      fc.asyncProperty(damage(anyFile, marks), splits, async (file, sizes) => {
        const events = await read(file, sizes);
        expectPossible(events);
        checkAny?.(file.text, events);
        checkDamaged?.(file.text, events);
      }),
      { numRuns: 400 * TIMES },
    ));

  it('of any text is read to its end, and gives the same events for any split', () =>
    fc.assert(
      fc.asyncProperty(anyText, splits, async (text, sizes) => {
        const events = await read({ text });
        expectPossible(events);
        checkAny?.(text, events);
        const compared = format.errorDependsOnSplit ? withoutErrors : (it: typeof events) => it;
        expect(compared(await read({ text }, sizes))).toEqual(compared(events));
      }),
      { numRuns: 400 * TIMES },
    ));
});

const formats = createStatementFormats(loadProfiles(undefined), READ_SETTINGS);

async function readBytes(bytes: Uint8Array, format: TextFormat): Promise<StatementEvent[]> {
  const events: StatementEvent[] = [];
  const parts = (async function* () {
    yield bytes;
  })();
  for await (const it of formats.read(parts, { format, profile: format === 'csv' ? 'garanti-bbva' : null }))
    if ('events' in it) events.push(...it.events);
  return events;
}

const show = (entry: Entry | undefined) =>
  JSON.stringify(entry ?? null, (_, value) => (typeof value === 'bigint' ? String(value) : value));

describe.each(TEXT_FORMATS)('a file in %s that is cut at any byte of its last two entries', (format) => {
  it('has the entries before the cut, and reports the cut when an entry differs', async () => {
    const file = Buffer.from([...renderFile(format, { entries: 6, perDay: 3 })].join(''));
    const before = Buffer.from([...renderFile(format, { entries: 4, perDay: 3 })].join(''));
    const whole = entriesOf(await readBytes(file, format));
    expect(whole).toHaveLength(6);
    let start = 0;
    while (file[start] === before[start]) start += 1;
    const silent: string[] = [];
    for (let end = start; end < file.length; end += 1) {
      const events = await readBytes(file.subarray(0, end), format);
      const found = entriesOf(events);
      const isReported = events.some(({ type }) => type === 'issue' || type === 'warning');
      const differs = found.findIndex((entry, at) => show(entry) !== show(whole[at]));
      if (differs !== -1 && !isReported) silent.push(`${file.subarray(end - 30, end)}|`);
      expect(found.length).toBeLessThanOrEqual(6);
      expect(differs === -1 || differs >= 3, `${end}`).toBe(true);
    }
    expect(silent).toEqual([]);
  });
});
