import { type ByteDecoder, createByteDecoder, isEncoding } from '../encodings.ts';
import { concat, toLatin1 } from './bytes.ts';
import { type DetectedEncoding, detectEncoding } from './detect-encoding.ts';

/**
 * Decodes the bytes of a text file. The byte order mark or the XML declaration decides the encoding. Without these, it is UTF-8, unless too
 * many bytes are not UTF-8. Then it is the encoding that the caller names, or else the one that the letters speak for.
 */

export interface DecodeOptions {
  /**
   * The encoding of bytes that are not UTF-8, as a label that `isEncoding` knows. It is not used for a file in UTF-8, because banks often
   * name another encoding and write UTF-8.
   */
  encoding?: string | undefined;
  /** The only encodings that the letters may speak for, as in `detectEncoding`. */
  candidates?: readonly string[] | undefined;
  /** Is called once at most, if the encoding is not certain. */
  onDoubt?: (found: DetectedEncoding) => void;
}

/** Bytes of the start that are examined. */
const HEAD_BYTES = 4 * 1024;

/**
 * Bytes decoded at a time. The objects made from a whole part would live so long that they fill the heap's old space with garbage.
 */
const SLICE_BYTES = 32 * 1024;

const BYTE_ORDER_MARK = '\uFEFF';

/** Decodes a stream of bytes, without the byte order mark. Bytes that the encoding does not know become U+FFFD. */
export async function* decode(
  bytes: AsyncIterable<Uint8Array>,
  options: DecodeOptions = {},
): AsyncGenerator<string> {
  let head: Uint8Array | null = new Uint8Array();
  let decoder: ByteDecoder | null = null;
  for await (const part of bytes) {
    if (decoder !== null) {
      for (const slice of slices(part)) yield decoder.decode(slice);
      continue;
    }
    head = head === null ? part : concat([head, part]);
    if (head.length < HEAD_BYTES) continue;
    decoder = createDecoder(head, options);
    for (const slice of slices(head)) yield decoder.decode(slice);
    head = null;
  }
  if (head !== null) {
    decoder = createDecoder(head, options);
    yield decoder.decode(head);
  }
  yield decoder?.end() ?? '';
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}

/** Decodes the beginning of a file, to recognise its format. */
export function decodeStart(start: Uint8Array): string {
  const decoder = createDecoder(start, {});
  return decoder.decode(start) + decoder.end();
}

/** @returns the label of an encoding; null: UTF-8, or an encoding that the file does not name. */
function declaredEncoding(head: Uint8Array): string | null {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return null;
  const utf16 = detectUtf16(head);
  if (utf16 !== null) return utf16;
  const [, declared] = /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]{1,40})["']/.exec(toLatin1(head)) ?? [];
  return declared !== undefined &&
    isEncoding(declared) &&
    !/^utf-?8$/i.test(declared) &&
    !/^utf-?16/i.test(declared)
    ? declared
    : null;
}

/** Text without a byte order mark in UTF-16: almost every other byte is zero. */
function detectUtf16(head: Uint8Array): string | null {
  const pairs = Math.floor(head.length / 2);
  if (pairs === 0) return null;
  let [even, odd] = [0, 0];
  for (let i = 0; i < pairs * 2; i += 2) {
    if (head[i] === 0) even += 1;
    if (head[i + 1] === 0) odd += 1;
  }
  if (odd > pairs * 0.7 && even < pairs * 0.1) return 'utf-16le';
  return even > pairs * 0.7 && odd < pairs * 0.1 ? 'utf-16be' : null;
}

function createDecoder(head: Uint8Array, options: DecodeOptions): ByteDecoder {
  const declared = declaredEncoding(head);
  return declared === null
    ? createUtf8Decoder(head.slice(0, HEAD_BYTES), options)
    : createByteDecoder(declared);
}

/** Bytes that are examined, from the first bytes that are not UTF-8, before the encoding is decided. */
const DECIDED_BYTES = 256 * 1024;

/**
 * Decodes UTF-8, or another encoding. Invalid bytes may be a broken place in a UTF-8 file. The file is UTF-8 if it has at least as many
 * valid characters of more than one byte as invalid bytes. Until this is decided, returns nothing after the invalid bytes. Keeps
 * the bytes of an incomplete character, because a TextDecoder decodes whole characters several times as fast as a stream.
 */
function createUtf8Decoder(head: Uint8Array, options: DecodeOptions): ByteDecoder {
  let decided: ByteDecoder | null = null;
  let kept: Uint8Array = new Uint8Array();
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let isStart = true;
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  const found = { valid: 0, invalid: 0 };

  /** @returns null if a byte is not UTF-8. */
  const decodeValid = (bytes: Uint8Array): string | null => {
    let text: string;
    try {
      text = strict.decode(bytes);
    } catch {
      return null;
    }
    found.valid += bytes.length - text.length;
    const isMarked = isStart && text.startsWith(BYTE_ORDER_MARK);
    isStart &&= text === '';
    return isMarked ? text.slice(1) : text;
  };
  const hold = (bytes: Uint8Array) => {
    const counts = countUtf8(bytes);
    found.valid += counts.valid;
    found.invalid += counts.invalid;
    held.push(bytes);
    heldBytes += bytes.length;
  };
  const decide = (): string => {
    const isOfUtf8 = found.valid > 0 && found.valid >= found.invalid;
    const decoder = isOfUtf8 ? createByteDecoder('utf-8') : createLegacyDecoder(concat(held), head, options);
    decided = decoder;
    const text = held.map((bytes) => decoder.decode(bytes)).join('');
    held = [];
    return text;
  };
  return {
    decode(part) {
      if (decided !== null) return decided.decode(part);
      const bytes = kept.length === 0 ? part : concat([kept, part]);
      const whole = bytes.length - incompleteLength(bytes);
      kept = bytes.subarray(whole);
      const characters = bytes.subarray(0, whole);
      const valid = held.length === 0 ? decodeValid(characters) : null;
      if (valid !== null) return valid;
      hold(characters);
      if (heldBytes < DECIDED_BYTES) return '';
      const text = decide();
      const rest = kept;
      kept = new Uint8Array();
      return text + (decided as ByteDecoder | null)?.decode(rest);
    },
    end() {
      if (decided !== null) return decided.end();
      if (held.length === 0 && kept.length === 0) return '';
      hold(kept);
      return decide() + ((decided as ByteDecoder | null)?.end() ?? '');
    },
  };
}

/** Texts that are decoded after the encoding was chosen, and have a byte for the first time, are examined at most this often. */
const MAX_CHECKS = 32;

/**
 * Decodes an encoding of one byte: the one that is named, or the one that the letters speak for. Letters that come later may speak
 * against it; then it is in doubt too.
 */
function createLegacyDecoder(sample: Uint8Array, head: Uint8Array, options: DecodeOptions): ByteDecoder {
  const { encoding, candidates, onDoubt } = options;
  if (encoding !== undefined && isEncoding(encoding) && !/^utf-?8$/i.test(encoding))
    return createByteDecoder(encoding);
  const found = detectEncoding(sample, head, candidates);
  const decoder = createByteDecoder(found.encoding);
  let checks = found.alternatives.length > 0 ? MAX_CHECKS : 0;
  if (found.alternatives.length > 0) onDoubt?.(found);
  /** ASCII is the same in all of them. */
  const isSeen = new Uint8Array(256).fill(1, 0, 0x80);
  for (const byte of sample) isSeen[byte] = 1;
  const check = (bytes: Uint8Array) => {
    if (!hasNewByte(bytes, isSeen)) return;
    checks += 1;
    for (const byte of bytes) isSeen[byte] = 1;
    // The new letters come first, because not all letters of a long text are examined.
    const { encoding: later, alternatives } = detectEncoding(concat([bytes, sample]), head, candidates);
    if (later === found.encoding && alternatives.length === 0) return;
    const others = [later, ...alternatives].filter((it) => it !== found.encoding);
    checks = MAX_CHECKS;
    onDoubt?.({ encoding: found.encoding, alternatives: others });
  };
  return {
    decode(bytes) {
      if (checks < MAX_CHECKS) check(bytes);
      return decoder.decode(bytes);
    },
    end: () => decoder.end(),
  };
}

/** Whether there is a byte that is not ASCII and not seen. Four bytes of ASCII are skipped at once. */
function hasNewByte(bytes: Uint8Array, isSeen: Uint8Array): boolean {
  const isNew = (from: number, to: number): boolean => {
    for (let at = from; at < to; at += 1) if (isSeen[bytes[at] as number] === 0) return true;
    return false;
  };
  if (bytes.length < 4) return isNew(0, bytes.length);
  const from = -bytes.byteOffset & 3;
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset + from, (bytes.length - from) >> 2);
  for (let at = 0; at < words.length; at += 1)
    if (((words[at] as number) & 0x80808080) !== 0 && isNew(from + at * 4, from + at * 4 + 4)) return true;
  return isNew(0, from) || isNew(from + words.length * 4, bytes.length);
}

/** Counts the characters of more than one byte, and the bytes that are part of no character (RFC 3629, section 4). */
function countUtf8(bytes: Uint8Array): { valid: number; invalid: number } {
  const counts = { valid: 0, invalid: 0 };
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) continue;
    const length = lengthOfCharacter(bytes, at);
    if (length > 0) {
      counts.valid += 1;
      at += length - 1;
    } else counts.invalid += 1;
  }
  return counts;
}

/** The length of a character of more than one byte; 0: the bytes are none (RFC 3629, section 4). */
function lengthOfCharacter(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] ?? 0;
  const length = byte > 0xf4 ? 0 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 0;
  const second = bytes[at + 1] ?? 0;
  const least = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
  const most = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return 0;
  for (let next = at + 2; next < at + length; next += 1) if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
}

/** The number of bytes at the end that may begin an incomplete UTF-8 character. */
function incompleteLength(bytes: Uint8Array): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length += 1) {
    const byte = bytes[bytes.length - length] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > length ? length : 0;
  }
  return 0;
}
