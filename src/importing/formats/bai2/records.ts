import { createLineReader, type Line } from './record-lines.ts';

/** A record with its continuations (88). */
export interface BaiRecord {
  /** Two digits. Empty: a line that is no record. */
  code: string;
  /** The line at which it begins, from 1. */
  line: number;
  /** What follows the code, of the record and of each continuation, without the closing slash. */
  parts: string[];
  /** How many records it counts for in control totals. */
  count: number;
  /** From this part on, the last field may be incomplete: a line that is no record, or the end of the file, comes after it. */
  brokenAt: number | null;
  /** The file ends inside it. */
  isUnfinished: boolean;
  /** It is longer than 64 Ki characters, and its end is missing. */
  isCut: boolean;
  /** A line without a record code was added to its text. */
  hasStrayText: boolean;
}

const MAX_LENGTH = 64 * 1024;
/** A code with a wrong, a missing or an additional character. */
const DAMAGED_CODE = /^\s*(?:\S?\d\S?|\d\S{2}|\S{2}\d)?,/;
const CODE = /^\s*(01|02|03|16|49|88|98|99)\s*(?:,|(?=\/?\s*$))/;

/**
 * Where another record begins on the same line: after a slash, or after a blank where a slash was left out. The text of a transaction
 * may contain slashes and numbers ("PAID 12/16,000"), so what follows must have the fields of its record.
 */
const NEXT_RECORD = new RegExp(
  `(?:/\\s{0,200}|\\s)(?=${[
    '01,[^,/]{0,80},[^,/]{0,80},\\d{6,8},',
    '02,[^,/]{0,80},[^,/]{0,80},[1-4]?,\\d{6,8},',
    '03,[^,/]{1,80},(?:[A-Z]{3})?,(?:\\d{3})?,[+-]?\\d*[,/]',
    '16,\\d{3},\\d*(?:,[VSDZ012]?,|(?:,[VSDZ012]?)?/\\s{0,200}88,)',
    '49,[+-]?\\d{0,40},\\d{1,10}\\s*(?:/|$)',
    '98,[+-]?\\d{0,40},\\d{1,10},\\d{1,10}\\s*(?:/|$)',
    '99,[+-]?\\d{0,40},\\d{1,10},\\d{1,10}\\s*(?:/|$)',
  ].join('|')})|/\\s{0,200}(?=88,)`,
);

/** Splits a line that has several records. Each keeps its closing slash. */
export function splitRecords(line: string): string[] {
  const records: string[] = [];
  let rest = line;
  for (;;) {
    const next = NEXT_RECORD.exec(rest);
    if (next === null) return [...records, rest];
    const end = next.index + next[0].length;
    records.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
}

/** Reads records from text that comes in any split. At most one record is held. */
export function createRecordReader() {
  const lines = createLineReader(splitRecords);
  let record: BaiRecord | null = null;
  let length = 0;
  let isClosed = false;
  let done: BaiRecord[] = [];

  const finish = () => {
    if (record !== null) done.push(record);
    record = null;
  };
  const addPart = (text: string) => {
    if (record === null) return;
    isClosed = text.trimEnd().endsWith('/');
    length += text.length;
    if (length > MAX_LENGTH) record.isCut = true;
    else record.parts.push(text.trimEnd().replace(/\/$/, ''));
  };
  const begin = (code: string, line: Line, text: string) => {
    finish();
    record = {
      code,
      line: line.line,
      parts: [],
      count: 1,
      brokenAt: null,
      isUnfinished: false,
      isCut: false,
      hasStrayText: false,
    };
    length = 0;
    addPart(text);
  };
  /** A bank broke the text of a transaction into lines, or the line is damaged. */
  const addStray = (line: Line, text: string) => {
    if (record !== null && !isClosed) record.brokenAt ??= record.parts.length - 1;
    if (record?.code !== '16' || isClosed || DAMAGED_CODE.test(text)) return begin('', line, text);
    record.hasStrayText = true;
    addPart(text);
  };
  const readLine = (line: Line) => {
    for (const text of splitRecords(line.text)) {
      if (text.trim() === '') continue;
      const [start, code] = CODE.exec(text) ?? [];
      if (start === undefined || code === undefined) addStray(line, text);
      else if (code !== '88') begin(code, line, text.slice(start.length));
      else if (record === null) begin(code, line, text.slice(start.length));
      else {
        record.count += 1;
        addPart(text.slice(start.length));
      }
    }
    if (record === null) return;
    if (line.isCut) record.isCut = true;
    if (line.isEnded || isClosed) return;
    record.brokenAt ??= record.parts.length - 1;
    record.isUnfinished = true;
  };
  const take = (): BaiRecord[] => {
    const records = done;
    done = [];
    return records;
  };

  return {
    /** @returns the records that this part completes */
    read(part: string): BaiRecord[] {
      for (const line of lines.read(part)) readLine(line);
      return take();
    },
    end(): BaiRecord[] {
      for (const line of lines.end()) readLine(line);
      finish();
      return take();
    },
  };
}
