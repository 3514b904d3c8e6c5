import { deflateSync, inflateSync, strFromU8, strToU8 } from 'fflate';
import type { Row } from './row.ts';

/** Keeps rows of a table until the end of the file, compressed: a million rows take some 50 MB. */

/** Characters that are compressed together. Of a thousand accounts, so many each wait for more. */
const TOGETHER = 4 * 1_024;

export interface PackedRows {
  add(row: Row): void;
  /** The rows in their order, some at a time. */
  read(): Generator<Row[]>;
}

export function createPackedRows(): PackedRows {
  const packed: Uint8Array[] = [];
  /** As text, because the cells of a row keep the whole part of the file that they were read from. */
  let waiting = '';
  const toRows = (lines: string): Row[] => JSON.parse(`[${lines}]`);
  return {
    add(row) {
      waiting += `${waiting === '' ? '' : ','}${JSON.stringify(row)}`;
      if (waiting.length < TOGETHER) return;
      packed.push(deflateSync(strToU8(waiting), { level: 1 }));
      waiting = '';
    },
    *read() {
      for (const part of packed) yield toRows(strFromU8(inflateSync(part)));
      yield toRows(waiting);
    },
  };
}
