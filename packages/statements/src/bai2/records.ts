import { splitLines } from '../shared/text.ts';

/** A record with its continuations (88). */
export interface BaiRecord {
  /** Two digits. Empty: a line that is no record. */
  code: string;
  /** The line at which it begins, from 1. */
  line: number;
  /** The text after the code, of the record and of each continuation, without the closing slash. */
  parts: string[];
  /** By part: it fills its physical record up to the last character, so its text may be cut within a word. */
  areFull: boolean[];
  /** The number of records that it counts as in control totals. */
  count: number;
  /**
   * From this part on, the last field of a part may be incomplete, because a line that is not a record, or the end of the file,
   * follows.
   */
  brokenAt: number | null;
  /** The file ends inside this record. */
  isUnfinished: boolean;
  /** The record is longer than 64 Ki characters, and its end is missing. */
  isCut: boolean;
  /** A line without a record code was added to the text of this record. */
  hasStrayText: boolean;
}

const MAX_LENGTH = 64 * 1024;
/** The length at which banks cut records if the file header (01) states none. */
const USUAL_LENGTH = 80;
const HEADER_LENGTH = /^01(?:,[^,]*){5},\s*(\d{1,5})\s*,/;
/** A code with a wrong, a missing or an additional character. */
const DAMAGED_CODE = /^\s*(?:\S?\d\S?|\d\S{2}|\S{2}\d)?,/;
/** Never backtracks over blanks, because the sender decides how many there are. */
const CODE = /^\s*(01|02|03|16|49|88|98|99)\s*(,?)/;
const NO_FIELDS_FOLLOW = /^\/?\s*$/;

/**
 * Finds where another record begins on the same line: after a slash, or after a blank where a slash is missing. The text of a
 * transaction may contain slashes and numbers ("PAID 12/16,000"), so the following text must have the fields of its record.
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
function splitRecords(line: string): string[] {
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

/** Reads records from text that comes in any split. Holds at most one record in memory. */
export function createRecordReader() {
  const lines = createLineReader(splitRecords);
  let record: BaiRecord | null = null;
  let length = 0;
  let isClosed = false;
  let recordLength = USUAL_LENGTH;
  let done: BaiRecord[] = [];

  const finish = () => {
    if (record !== null) done.push(record);
    record = null;
  };
  /** @param physical the length of the physical record, with its code */
  const addPart = (text: string, physical: number) => {
    if (record === null) return;
    isClosed = text.trimEnd().endsWith('/');
    length += text.length;
    if (length > MAX_LENGTH) record.isCut = true;
    else {
      record.parts.push(text.trimEnd().replace(/\/$/, ''));
      record.areFull.push(physical === recordLength && /[^\s/]$/.test(text));
    }
  };
  const begin = (code: string, line: Line, text: string, physical: number) => {
    finish();
    record = {
      code,
      line: line.line,
      parts: [],
      areFull: [],
      count: 1,
      brokenAt: null,
      isUnfinished: false,
      isCut: false,
      hasStrayText: false,
    };
    length = 0;
    addPart(text, physical);
  };
  /** Adds a line that is not a record. Either a bank broke the text of a transaction into lines, or the line is damaged. */
  const addStray = (line: Line, text: string) => {
    if (record !== null && !isClosed) record.brokenAt ??= record.parts.length - 1;
    if (record?.code !== '16' || isClosed || DAMAGED_CODE.test(text))
      return begin('', line, text, text.length);
    record.hasStrayText = true;
    addPart(text, text.length);
  };
  const readLine = (line: Line) => {
    for (const text of splitRecords(line.text)) {
      if (text.trim() === '') continue;
      const [start = '', code, comma] = CODE.exec(text) ?? [];
      const fields = text.slice(start.length);
      if (code === undefined || (comma === '' && !NO_FIELDS_FOLLOW.test(fields))) addStray(line, text);
      else if (code !== '88' || record === null) {
        if (code === '01')
          recordLength = Number(HEADER_LENGTH.exec(text.trimStart())?.[1] ?? 0) || USUAL_LENGTH;
        begin(code, line, fields, text.length);
      } else {
        record.count += 1;
        addPart(fields, text.length);
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

/** A record of BAI2 usually has 80 characters. Records of banks that write a whole text into one have some hundred. */
const MAX_LINE = 64 * 1024;

export interface Line {
  line: number;
  text: string;
  /** The line ends with a line end, not with the end of the file. */
  isEnded: boolean;
  /** The text between 64 Ki characters and the line end is missing. */
  isCut: boolean;
}

/**
 * Splits text that comes in any split into lines, which end with CRLF, LF or CR. Blank lines are left out.
 * @param splitLong splits a line of more than 64 Ki characters into pieces. All pieces but the last count as lines, so a whole file
 * may be one line.
 */
export function createLineReader(splitLong: (text: string) => string[]) {
  let rest = '';
  let line = 1;
  let isSkipping = false;
  let endsWithReturn = false;
  const lines: Line[] = [];

  const add = (text: string, isEnded: boolean) => {
    if (text.trim() !== '') lines.push({ line, text, isEnded, isCut: isSkipping });
  };
  const grow = (text: string) => {
    if (isSkipping) return;
    rest += text;
    if (rest.length <= MAX_LINE) return;
    const pieces = splitLong(rest);
    rest = pieces.pop() ?? '';
    for (const piece of pieces) add(piece, true);
    if (rest.length <= MAX_LINE) return;
    rest = rest.slice(0, MAX_LINE);
    isSkipping = true;
  };

  return {
    read(part: string): Line[] {
      if (part === '') return [];
      lines.length = 0;
      // Drops the LF of a CRLF that was cut in two.
      const text = endsWithReturn && part.startsWith('\n') ? part.slice(1) : part;
      endsWithReturn = part.endsWith('\r');
      const pieces = splitLines(text);
      for (const [index, piece] of pieces.entries()) {
        grow(piece);
        if (index === pieces.length - 1) break;
        add(rest, true);
        rest = '';
        isSkipping = false;
        line += 1;
      }
      return [...lines];
    },
    /** @returns the last line if the text ends without a line end */
    end(): Line[] {
      lines.length = 0;
      add(rest, false);
      return [...lines];
    },
  };
}

/** Reads the fields of a record in turn. A continuation begins with the next field, or continues the text. */
interface FieldReader {
  /** The next field, without blanks around it. Null: there is none, or it may be incomplete because the record breaks off there. */
  next(): string | null;
  /** The next field, if a continuation begins with it. Does not read past it. */
  peekContinuation(): string | null;
  /**
   * The rest of the record as one text. Continuations are joined with a blank, except after a part that fills its physical record: a
   * text may be split anywhere (BAI2 specification, record 88), and the blank, if there was one, is on either side.
   */
  rest(): string;
}

export function readFields(record: BaiRecord): FieldReader {
  const { parts, areFull } = record;
  const brokenAt = record.brokenAt ?? (record.isCut ? parts.length - 1 : parts.length);
  let part = 0;
  let at = 0;

  const current = (): string | null => {
    const text = parts[part];
    if (text === undefined || at <= text.length) return text ?? null;
    part += 1;
    at = 0;
    return parts[part] ?? null;
  };
  const endOfField = (text: string): number => {
    const comma = text.indexOf(',', at);
    return comma === -1 ? text.length : comma;
  };

  return {
    next() {
      const text = current();
      if (text === null) return null;
      const end = endOfField(text);
      if (end === text.length && part >= brokenAt) return null;
      const field = text.slice(at, end).trim();
      at = end + 1;
      return field;
    },
    peekContinuation() {
      const text = current();
      return text === null || part === 0 || at > 0 ? null : text.slice(at, endOfField(text)).trim();
    },
    rest() {
      const pieces = [current()?.slice(at).trim() ?? ''];
      for (let next = part + 1; next < parts.length; next += 1) {
        const piece = parts[next] ?? '';
        if (piece.trim() === '') continue;
        const isCutWithinWord = areFull[next - 1] === true && !/^\s/.test(piece);
        pieces.push(isCutWithinWord ? '' : ' ', piece.trim());
      }
      part = parts.length;
      return pieces.join('').trim();
    },
  };
}

const NO_FIELDS = new Set(['', 'Z', '0', '1', '2']);

/**
 * Reads a funds type and the fields that belong to it: three amounts (S), a date and a time (V), or a number of pairs (D).
 * @returns the value date of V as it stands in the file; null: there is none. False if this is not a funds type. Then the meaning
 * of the following fields is not certain.
 */
export function readFunds(fields: FieldReader): string | null | false {
  const type = fields.next()?.toUpperCase() ?? '';
  if (NO_FIELDS.has(type)) return null;
  if (type === 'V') {
    const date = fields.next();
    fields.next();
    return date;
  }
  const pairs = type === 'D' ? (fields.next() ?? '') : '0';
  const count = type === 'S' ? 3 : type === 'D' && /^\d{1,4}$/.test(pairs) ? 2 * Number(pairs) : null;
  for (let i = 0; i < (count ?? 0); i += 1) fields.next();
  return count === null ? false : null;
}
