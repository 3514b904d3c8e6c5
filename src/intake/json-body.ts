import { isUtf8 } from 'node:buffer';
import { createGiveWay, type GiveWay } from '../platform/give-way.ts';

/**
 * Reads `{ "transactions": [ … ] }` item by item. `JSON.parse` of a large body would block the process and take many times its memory. So
 * a scanner of bytes finds where each item begins and ends, and `JSON.parse` gets one item at a time. The result is the same: a member
 * that comes twice counts with its last value, and anything that is not JSON (RFC 8259) is refused.
 */

/** The body is not JSON in UTF-8. */
export class MalformedJsonError extends Error {
  override name = 'MalformedJsonError';
}

/** Longest item, in bytes. A movement takes a few hundred. */
export const ITEM_BYTES = 64 * 1024;

/** Members of the body that are read. */
const MOST_MEMBERS = 10;

/** Bytes that are scanned before other work may get its turn. */
const STRIDE = 64 * 1024;

/** Members, or items, that are yielded at a time. */
const RANGES_AT_A_TIME = 100;

/** From the first byte to the byte behind the last one. */
interface Range {
  from: number;
  to: number;
}

/** A part of the body that is longer than `ITEM_BYTES`, and was not parsed. */
export const TOO_LONG = Symbol('too long');

export interface JsonBody {
  /** The body with an empty list in the place of its list, for a schema of the whole. */
  shell: unknown;
  /** Yields the items of the list, a few at a time. An item that is longer than 64 KiB is `TOO_LONG`. @throws {MalformedJsonError} */
  items(): AsyncGenerator<unknown[]>;
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

const isBlank = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * Finds the parts of a body.
 * @param list the name of the member that is the list.
 * @throws {MalformedJsonError}
 */
export async function readJsonBody(bytes: Buffer, list: string): Promise<JsonBody> {
  if (!isUtf8(bytes)) throw malformed();
  // A small body has no item that is too long, and is parsed as a whole, which is faster.
  if (bytes.length <= ITEM_BYTES)
    return wholeBody(parseText(bytes.toString('utf8').replace(/^\uFEFF/, '')), list);
  const giveWay = createGiveWay();
  const from = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  const start = await skipBlanks(bytes, from, giveWay);
  if (bytes[start] !== OPEN_OBJECT) return otherBody(bytes, start, giveWay);
  const members: [name: string, value: unknown][] = [];
  let items: Range | null = null;
  search: for await (const ranges of cut(bytes, start + 1, CLOSE_OBJECT, giveWay)) {
    for (const range of ranges) {
      const { name, value } = await splitMember(bytes, range, giveWay);
      const isList = name === list;
      // The last list counts, and an earlier one must be JSON too.
      if (isList && items !== null) for await (const _ of parseItems(bytes, items, giveWay));
      if (isList) items = bytes[value.from] === OPEN_LIST ? value : null;
      members.push([name, isList && items !== null ? [] : parse(bytes, value)]);
      // Most of them are not known to the schema, which refuses them.
      if (members.length === MOST_MEMBERS) break search;
    }
  }
  const found = items;
  return {
    shell: Object.fromEntries(members.map(([name, value]) => [name, value === TOO_LONG ? null : value])),
    items: async function* () {
      if (found !== null) yield* parseItems(bytes, found, giveWay);
    },
  };
}

/** A body that is no object, which a schema refuses. It must be JSON all the same. */
async function otherBody(bytes: Buffer, from: number, giveWay: GiveWay): Promise<JsonBody> {
  const range = { from, to: await findEnd(bytes, from, giveWay) };
  const value = parse(bytes, range);
  const isLongList = value === TOO_LONG && bytes[from] === OPEN_LIST;
  if (isLongList) for await (const _ of parseItems(bytes, range, giveWay));
  const shell = value === TOO_LONG ? (isLongList ? [] : null) : value;
  return { shell, items: async function* () {} };
}

function wholeBody(body: unknown, list: string): JsonBody {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  const found = isObject ? Object.getOwnPropertyDescriptor(body, list)?.value : undefined;
  if (!Array.isArray(found)) return { shell: body, items: async function* () {} };
  return {
    shell: { ...(body as object), [list]: [] },
    items: async function* () {
      yield found;
    },
  };
}

/** Yields the parsed items of a list. @param range from its opening bracket on. */
async function* parseItems(bytes: Buffer, { from, to }: Range, giveWay: GiveWay): AsyncGenerator<unknown[]> {
  for await (const ranges of cut(bytes.subarray(0, to), from + 1, CLOSE_LIST, giveWay)) {
    const items: unknown[] = [];
    for (const { range, isLong } of groupsOf(ranges)) {
      if (isLong) items.push(TOO_LONG);
      else items.push(...(parseText(`[${bytes.toString('utf8', range.from, range.to)}]`) as unknown[]));
      await giveWay();
    }
    yield items;
  }
}

/** Joins neighbours, because one call of `JSON.parse` is faster than many. */
function groupsOf(ranges: readonly Range[]): { range: Range; isLong: boolean }[] {
  const groups: { range: Range; isLong: boolean }[] = [];
  for (const { from, to } of ranges) {
    const isLong = to - from > ITEM_BYTES;
    const last = groups.at(-1);
    if (last !== undefined && !last.isLong && to - last.range.from <= ITEM_BYTES) last.range.to = to;
    else groups.push({ range: { from, to }, isLong });
  }
  return groups;
}

/**
 * Yields what stands between the commas of a list or an object, a few at a time.
 * @param from behind the opening bracket. After the closing one, only blanks may follow.
 */
async function* cut(bytes: Buffer, from: number, closing: number, giveWay: GiveWay): AsyncGenerator<Range[]> {
  let start = await skipBlanks(bytes, from, giveWay);
  let end = start;
  let ranges: Range[] = [];
  for (let areMore = bytes[start] !== closing; areMore; ) {
    const state = { depth: 0, isText: false, isOver: false };
    for (end = scan(bytes, start, state); !state.isOver; end = scan(bytes, end, state)) await giveWay();
    ranges.push({ from: start, to: end });
    areMore = bytes[end] === COMMA;
    // Without an await for each item of a list that has no blanks.
    if (areMore) start = isBlank(bytes[end + 1]) ? await skipBlanks(bytes, end + 1, giveWay) : end + 1;
    if (areMore && ranges.length < RANGES_AT_A_TIME) continue;
    yield ranges;
    ranges = [];
    await giveWay();
  }
  if (bytes[end] !== closing) throw malformed();
  if ((await skipBlanks(bytes, end + 1, giveWay)) !== bytes.length) throw malformed();
}

/**
 * Scans on for the end of a value: a comma or a closing bracket that is outside of its texts and brackets, or the end of the bytes. The kinds
 * of brackets are not compared, because `JSON.parse` refuses a value in which they do not match.
 */
function scan(
  bytes: Buffer,
  from: number,
  state: { depth: number; isText: boolean; isOver: boolean },
): number {
  let { depth, isText } = state;
  const end = Math.min(bytes.length, from + STRIDE);
  let at = from;
  for (; at < end; at += 1) {
    if (isText) {
      while (at < end && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
      if (at >= end) break;
      isText = false;
      continue;
    }
    const byte = bytes[at];
    if (byte === QUOTE) isText = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth += 1;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (depth === 0) break;
      depth -= 1;
    } else if (byte === COMMA && depth === 0) break;
  }
  Object.assign(state, { depth, isText, isOver: at < end || at >= bytes.length });
  return Math.min(at, bytes.length);
}

async function splitMember(
  bytes: Buffer,
  { from, to }: Range,
  giveWay: GiveWay,
): Promise<{ name: string; value: Range }> {
  if (bytes[from] !== QUOTE) throw malformed();
  const last = Math.min(to, from + ITEM_BYTES);
  let end = from + 1;
  while (end < last && bytes[end] !== QUOTE) end += bytes[end] === BACKSLASH ? 2 : 1;
  // No schema knows such a name, so nobody needs its value.
  if (end >= last && last < to) return { name: 'a name that is too long', value: { from, to } };
  const name = parse(bytes, { from, to: Math.min(end + 1, to) });
  const colon = await skipBlanks(bytes, end + 1, giveWay);
  if (bytes[colon] !== COLON || colon >= to) throw malformed();
  return {
    name: typeof name === 'string' ? name : 'a name that is too long',
    value: { from: await skipBlanks(bytes, colon + 1, giveWay), to },
  };
}

/** @returns the end of the bytes without the blanks there. */
async function findEnd(bytes: Buffer, from: number, giveWay: GiveWay): Promise<number> {
  let to = bytes.length;
  for (; to > from && isBlank(bytes[to - 1]); to -= 1) if (to % STRIDE === 0) await giveWay();
  return to;
}

async function skipBlanks(bytes: Buffer, from: number, giveWay: GiveWay): Promise<number> {
  let at = from;
  for (; isBlank(bytes[at]); at += 1) if (at % STRIDE === 0) await giveWay();
  return at;
}

const parse = (bytes: Buffer, { from, to }: Range): unknown =>
  to - from > ITEM_BYTES ? TOO_LONG : parseText(bytes.toString('utf8', from, to));

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed();
  }
}

const malformed = () => new MalformedJsonError('The body is not valid JSON in UTF-8.');
