import { isUtf8 } from 'node:buffer';
import type { Row } from './format.ts';

/** A movement takes a few hundred bytes. The limit keeps a line without an end from filling the memory. */
const MAX_LINE_BYTES = 64 * 1024;
/** Rows yielded at a time. The rows of a whole part would live long enough to fill the heap's old space with garbage. */
const ROWS_AT_A_TIME = 250;
const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = /^\uFEFF/;

/**
 * Reads newline-delimited JSON (https://github.com/ndjson/ndjson-spec): one value per line. Blank lines are skipped. A line that is
 * not JSON, not UTF-8 or longer than 64 KiB yields an issue, and the other lines are still read.
 */
export async function* readNdjson(parts: AsyncIterable<Buffer>): AsyncGenerator<Row[]> {
  let line = 0;
  let carried: Buffer[] = [];
  let carriedBytes = 0;

  const carry = (part: Buffer) => {
    // Beyond the limit only the length is kept, since the line is rejected anyway.
    if (carriedBytes <= MAX_LINE_BYTES) carried.push(part);
    carriedBytes += part.length;
  };
  const endLine = (rows: Row[]) => {
    line += 1;
    const row =
      carriedBytes > MAX_LINE_BYTES
        ? { line, issue: `the line is longer than ${MAX_LINE_BYTES / 1024} KiB` }
        : parseLine(line, carried.length === 1 && carried[0] ? carried[0] : Buffer.concat(carried));
    if (row !== null) rows.push(row);
    carried = [];
    carriedBytes = 0;
  };

  for await (const part of parts) {
    let rows: Row[] = [];
    let start = 0;
    for (;;) {
      const end = part.indexOf(NEWLINE, start);
      if (end === -1) break;
      carry(part.subarray(start, end));
      endLine(rows);
      start = end + 1;
      if (rows.length >= ROWS_AT_A_TIME) {
        yield rows;
        rows = [];
      }
    }
    if (start < part.length) carry(part.subarray(start));
    yield rows;
  }
  if (carriedBytes > 0) {
    const rows: Row[] = [];
    endLine(rows);
    yield rows;
  }
}

function parseLine(line: number, bytes: Buffer): Row | null {
  if (!isUtf8(bytes)) return { line, issue: 'the line is not valid UTF-8' };
  const text = line === 1 ? bytes.toString('utf8').replace(BYTE_ORDER_MARK, '') : bytes.toString('utf8');
  if (text.trim() === '') return null;
  try {
    return { line, value: JSON.parse(text) };
  } catch {
    return { line, issue: 'the line is not valid JSON' };
  }
}
