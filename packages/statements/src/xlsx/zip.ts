import { inMib, type Limits, RATIO_FROM_BYTES } from '../settings.ts';
import { BrokenGzipError, gunzip } from '../shared/bytes.ts';

/**
 * Reads the parts of an XLSX file, which is a zip. Uses its central directory, because a sheet may come before the texts that it
 * refers to.
 */

const MAX_PARTS = 1_000;

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const LOCAL_HEADER_BYTES = 30;
const ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;

export interface Zip {
  names: ReadonlySet<string>;
  /** Reads and unpacks a part. @throws {XlsxError} when there is no such part, or it is broken or too large. */
  readPart(name: string): AsyncGenerator<Uint8Array>;
  /**
   * Reads a part to its end, so that a broken or too large part is noticed before any of it is used.
   * @returns how many bytes it has.
   * @throws {XlsxError}
   */
  checkPart(name: string): Promise<number>;
}

/**
 * Opens a zip that is wholly in memory (APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16).
 * @throws {XlsxError} when the zip is broken, encrypted or cut off.
 */
export function openZip(file: Uint8Array, limits: Limits): Zip {
  const parts = readDirectory(file);
  async function* readPart(name: string): AsyncGenerator<Uint8Array> {
    const part = parts.get(name);
    if (part === undefined) throw new XlsxError(`the file has no part ${name}`);
    yield* unpack(file, part, limits);
  }
  return {
    names: new Set(parts.keys()),
    readPart,
    async checkPart(name) {
      let bytes = 0;
      for await (const { length } of readPart(name)) bytes += length;
      return bytes;
    },
  };
}

interface Part {
  method: number;
  checksum: number;
  packedBytes: number;
  bytes: number;
  header: number;
}

const view = ({ buffer, byteOffset, byteLength }: Uint8Array) => new DataView(buffer, byteOffset, byteLength);

function readDirectory(file: Uint8Array): Map<string, Part> {
  const data = view(file);
  const end = findEnd(data);
  const count = data.getUint16(end + 10, true);
  if (count > MAX_PARTS) throw new XlsxError(`the file has more than ${MAX_PARTS} parts`);
  const parts = new Map<string, Part>();
  let at = data.getUint32(end + 16, true);
  for (let i = 0; i < count; i += 1) {
    if (at + ENTRY_BYTES > file.length || data.getUint32(at, true) !== DIRECTORY_ENTRY) throw brokenZip();
    if ((data.getUint16(at + 8, true) & ENCRYPTED) === ENCRYPTED) {
      throw new XlsxError('the file is encrypted: send it without a password');
    }
    const nameEnd = at + ENTRY_BYTES + data.getUint16(at + 28, true);
    parts.set(new TextDecoder().decode(file.subarray(at + ENTRY_BYTES, nameEnd)), {
      method: data.getUint16(at + 10, true),
      checksum: data.getUint32(at + 16, true),
      packedBytes: data.getUint32(at + 20, true),
      bytes: data.getUint32(at + 24, true),
      header: data.getUint32(at + 42, true),
    });
    at = nameEnd + data.getUint16(at + 30, true) + data.getUint16(at + 32, true);
  }
  return parts;
}

/** The end of the directory is the last record, and may be followed by a comment. */
function findEnd(data: DataView): number {
  const last = data.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - 0xffff); at -= 1) {
    if (data.getUint32(at, true) === END_OF_DIRECTORY) return at;
  }
  throw brokenZip();
}

const brokenZip = () => new XlsxError('the file is a broken or cut off zip');

async function* unpack(file: Uint8Array, part: Part, limits: Limits): AsyncGenerator<Uint8Array> {
  const { method, packedBytes, header } = part;
  if (header + LOCAL_HEADER_BYTES > file.length) throw brokenZip();
  const data = view(file);
  // The name and the extra field may be longer here than in the directory.
  const start =
    header + LOCAL_HEADER_BYTES + data.getUint16(header + 26, true) + data.getUint16(header + 28, true);
  const packed = file.subarray(start, start + packedBytes);
  if (packed.length < packedBytes) throw brokenZip();
  if (method !== STORED && method !== DEFLATED)
    throw new XlsxError('the file is packed in a way that is not supported');
  let unpackedBytes = 0;
  try {
    for await (const bytes of gunzip(toGzip(packed, part))) {
      unpackedBytes += bytes.length;
      if (unpackedBytes > limits.unpackedBytes) {
        throw new XlsxError(`the file has more than ${inMib(limits.unpackedBytes)} when unpacked`);
      }
      if (unpackedBytes > RATIO_FROM_BYTES && unpackedBytes > packed.length * limits.unpackRatio) {
        throw new XlsxError(`the file unpacks to more than ${limits.unpackRatio} times its size`);
      }
      yield bytes;
    }
  } catch (error) {
    throw error instanceof BrokenGzipError ? brokenZip() : error;
  }
}

/** The header of gzip: deflated, and nothing else (RFC 1952, section 2.3). */
const GZIP_HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);

const SLICE_BYTES = 0xffff;

/** A part of a zip as gzip, whose reader checks the checksum and the size. */
async function* toGzip(packed: Uint8Array, { method, checksum, bytes }: Part): AsyncGenerator<Uint8Array> {
  yield GZIP_HEADER;
  for (let at = 0; at < packed.length || (at === 0 && method === STORED); at += SLICE_BYTES) {
    const slice = packed.subarray(at, at + SLICE_BYTES);
    if (method === STORED) yield storedHeader(slice.length, at + SLICE_BYTES >= packed.length);
    yield slice;
  }
  const trailer = new DataView(new ArrayBuffer(8));
  trailer.setUint32(0, checksum, true);
  trailer.setUint32(4, bytes, true);
  yield new Uint8Array(trailer.buffer);
}

/** The header of a block that is not compressed (RFC 1951, section 3.2.4). */
const storedHeader = (length: number, isLast: boolean): Uint8Array =>
  Uint8Array.of(isLast ? 1 : 0, length & 0xff, length >> 8, ~length & 0xff, (~length >> 8) & 0xff);

/** An XLSX file that cannot be read to its end. The message is for its sender. It has no capital and no full stop. */
export class XlsxError extends Error {
  override name = 'XlsxError';
}
