import fc from 'fast-check';
import { goodLine, type Line, line, shown } from './ndjson-lines.ts';

export interface File {
  /** Whether it begins with a byte order mark. */
  mark: boolean;
  lines: Line[];
  end: string;
  /** Whether the last line has its end as well. */
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
  // A mark at the very beginning is the file's own: the one of a bad line must be the second.
  .map((it) => ({
    ...it,
    mark: it.mark || it.lines[0]?.bytes.subarray(0, MARK.length).equals(MARK) === true,
  }));

const PIECE = 1024 * 1024;

/** Of which a movement, or the end of the line before it, lies across the end of the first part that the bytes are kept in. */
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
    const before = PIECE - (it.mark ? MARK.length : 0) - it.end.length - within;
    return { ...it, lines: [shown({ is: 'bad', bytes: Buffer.alloc(before, 'x') }), ...it.lines] };
  });
