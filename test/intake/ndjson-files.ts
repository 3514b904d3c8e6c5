import fc from 'fast-check';
import { goodLine, type Line, line, shown } from './ndjson-lines.ts';

export interface File {
  /** Whether it begins with a byte order mark. */
  mark: boolean;
  lines: Line[];
  end: string;
  /** Whether the last line has a line end too. */
  ended: boolean;
  /** How the request is cut into chunks, in bytes. */
  cuts: number[];
  /** Whether it is sent a second time. */
  again: boolean;
}

const around = {
  end: fc.constantFrom('\n', '\r\n'),
  ended: fc.boolean(),
  again: fc.boolean(),
  cuts: fc.array(fc.oneof(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 100_000 })), {
    maxLength: 8,
  }),
};

export const MARK = Buffer.from('\uFEFF');

export const file: fc.Arbitrary<File> = fc
  .record({ mark: fc.boolean(), lines: fc.array(line, { maxLength: 14 }), ...around })
  // A byte order mark at the very beginning belongs to the file. If the first line begins with one, the file needs two.
  .map((it) => ({
    ...it,
    mark: it.mark || it.lines[0]?.bytes.subarray(0, MARK.length).equals(MARK) === true,
  }));

const PART = 1024 * 1024;

/** A file in which a movement, or the line end before it, lies across the end of the first staged part. */
export const seam: fc.Arbitrary<File> = fc
  .record({
    mark: fc.boolean(),
    lines: fc.array(goodLine.map(shown), { minLength: 1, maxLength: 3 }),
    at: fc.oneof(fc.constantFrom(-1, 0, 1), fc.nat()),
    ...around,
  })
  .map(({ at, ...it }) => {
    const [first] = it.lines;
    const within = at % (first?.bytes.length ?? 1);
    const before = PART - (it.mark ? MARK.length : 0) - it.end.length - within;
    return { ...it, lines: [shown({ is: 'bad', bytes: Buffer.alloc(before, 'x') }), ...it.lines] };
  });
