import { isUtf8 } from 'node:buffer';
import type { MemberOutcome } from '../../../packages/statements/src/read-files.ts';
import type {
  AccountReference,
  EntryDetails,
  MinorUnits,
  StatementIdentity,
} from '../../../packages/statements/src/statement.ts';
import type { Movement } from '../../ledger/movement.ts';
import { readJsonBody } from '../json-body.ts';
import type { FormatName } from '../stage.ts';

/** The beginning of a statement, with the account that it names, and the account that was found or the reason why none was. */
export interface BegunStatement {
  format: string;
  /** The name of its file within a zip; null: it did not come in a zip. */
  file: string | null;
  reference: AccountReference;
  account: FoundAccount;
}

/**
 * The customer's account that a statement is about, perhaps with a warning for the sender, or a sentence that says why there is none.
 * `notStored`: what the rows of such a statement have in common, for a warning with their number, because the file may have others.
 */
export type FoundAccount =
  | { id: string; currency: string; warning?: string }
  | { problem: string; notStored?: string };

/** The balances of a statement as the file has them, and the sums of its booked entries. */
export interface StatementTotals {
  opening: MinorUnits | null;
  credits: MinorUnits;
  debits: MinorUnits;
  closing: MinorUnits | null;
  /** The closing balance minus the opening balance and the sum of the entries; null if a balance is missing. */
  difference: MinorUnits | null;
}

/** The statement of an entry. Its closing balance is filled in when its end has been read. */
export interface EntryStatement {
  /** `none`: rows that came without a statement. */
  kind: 'final' | 'interim' | 'none';
  format: string;
  /** The name of its file within a zip; null: it did not come in a zip. */
  file: string | null;
  opening: MinorUnits | null;
  closing: MinorUnits | null;
}

/** Details of an entry that its movement has no field for. */
export interface RowDetails extends EntryDetails {
  /** The reference is not the bank's, but the account owner's. It is no id. */
  isOwnReference?: true;
  /** ISO 4217; null: the account's. */
  currency: string | null;
}

/** A statement of a known account that was read to its end. */
export interface EndedStatement extends StatementIdentity {
  accountId: string;
  kind: EntryStatement['kind'];
  opening: MinorUnits | null;
  closing: MinorUnits | null;
  /** Of its balances, YYYY-MM-DD; null: the file does not say. */
  openingDate: string | null;
  closingDate: string | null;
  difference: MinorUnits | null;
  /** The sums of its entries. */
  credits: MinorUnits;
  debits: MinorUnits;
  entries: number;
  /** The same object as that of its entries. */
  statement: EntryStatement;
}

/**
 * The result of reading a line of an import. `value` is a parsed movement that is not validated yet. `movement` comes from a
 * statement: its account is found, its amounts are formatted and its texts are cut to their lengths. `reference` is the bank's name
 * for it. `issue` says why a row could not be read; null: an earlier issue covers this row too. A `warning`, the beginning of a
 * statement (`begun`), its `totals` at its end, and the result of a file of a zip (`member`) do not count as rows.
 */
export type Row =
  | { line: number; value: unknown }
  | {
      line: number;
      movement: Movement;
      reference: string | null;
      statement: EntryStatement;
      details: RowDetails;
    }
  | { line: number; issue: string | null; path?: string }
  | { line: number; warning: string }
  | { line: number; begun: BegunStatement }
  | { line: number; totals: StatementTotals; ended: EndedStatement | null }
  | { line: number; member: MemberOutcome };

/** Reads staged bytes part by part and yields their rows. */
export type Reader = (parts: AsyncIterable<Buffer>) => AsyncIterable<Row[]>;

/** A movement takes a few hundred bytes. The limit keeps an endless line from filling the memory. */
const MAX_LINE_BYTES = 64 * 1024;
/** Rows yielded at a time. The rows of a whole part would live so long that they fill the heap's old space with garbage. */
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
    // Beyond the limit only the length is kept, because the line is rejected anyway.
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

/** Reads `{ "transactions": [ … ] }`, which was validated before it was accepted. `line` is the position in the array, from 1. */
export async function* readJson(parts: AsyncIterable<Buffer>): AsyncGenerator<Row[]> {
  const bytes: Buffer[] = [];
  for await (const part of parts) bytes.push(part);
  const body = await readJsonBody(Buffer.concat(bytes), 'transactions');
  let line = 0;
  for await (const items of body.items()) {
    yield items.map((value) => {
      line += 1;
      return { line, value };
    });
  }
}

/** The reader of each format. */
export const FORMATS = { json: readJson, ndjson: readNdjson } satisfies Record<FormatName, Reader>;
