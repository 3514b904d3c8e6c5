import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw } from 'node:zlib';

/**
 * Reads the parts of an XLSX file, which is a zip. Uses its central directory, because a sheet may come before the texts that it
 * refers to.
 */

const MIB = 1024 * 1024;

/** The most bytes that one part may have when unpacked. */
const MAX_PART_BYTES = 1024 * MIB;
/** A sheet unpacks to twenty or a hundred times its size. A part that unpacks to more than this is refused. */
const MAX_RATIO = 200;
/** Up to this size, the ratio is not checked. */
const RATIO_FROM_BYTES = 16 * MIB;
const MAX_PARTS = 1_000;
const SLICE_BYTES = 64 * 1024;

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
  /** Reads a part to its end, so that a broken or too large part is noticed before any of it is used. @throws {XlsxError} */
  checkPart(name: string): Promise<void>;
}

/**
 * Opens a zip that is wholly in memory (APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16).
 * @throws {XlsxError} when the zip is broken, encrypted or cut off.
 */
export function openZip(file: Buffer): Zip {
  const parts = readDirectory(file);
  async function* readPart(name: string): AsyncGenerator<Uint8Array> {
    const part = parts.get(name);
    if (part === undefined) throw new XlsxError(`the file has no part ${name}`);
    let checksum = 0;
    for await (const bytes of unpack(file, part)) {
      checksum = crc32(bytes, checksum);
      yield bytes;
    }
    if (checksum !== part.checksum) throw brokenZip();
  }
  return {
    names: new Set(parts.keys()),
    readPart,
    async checkPart(name) {
      for await (const _ of readPart(name));
    },
  };
}

interface Part {
  method: number;
  checksum: number;
  packedBytes: number;
  header: number;
}

function readDirectory(file: Buffer): Map<string, Part> {
  const end = findEnd(file);
  const count = file.readUInt16LE(end + 10);
  if (count > MAX_PARTS) throw new XlsxError(`the file has more than ${MAX_PARTS} parts`);
  const parts = new Map<string, Part>();
  let at = file.readUInt32LE(end + 16);
  for (let i = 0; i < count; i += 1) {
    if (at + ENTRY_BYTES > file.length || file.readUInt32LE(at) !== DIRECTORY_ENTRY) throw brokenZip();
    if ((file.readUInt16LE(at + 8) & ENCRYPTED) === ENCRYPTED) {
      throw new XlsxError('the file is encrypted: send it without a password');
    }
    const nameEnd = at + ENTRY_BYTES + file.readUInt16LE(at + 28);
    parts.set(file.toString('utf8', at + ENTRY_BYTES, nameEnd), {
      method: file.readUInt16LE(at + 10),
      checksum: file.readUInt32LE(at + 16),
      packedBytes: file.readUInt32LE(at + 20),
      header: file.readUInt32LE(at + 42),
    });
    at = nameEnd + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32);
  }
  return parts;
}

/** The end of the directory is the last record, and may be followed by a comment. */
function findEnd(file: Buffer): number {
  for (let at = file.length - END_BYTES; at >= Math.max(0, file.length - END_BYTES - 0xffff); at -= 1) {
    if (file.readUInt32LE(at) === END_OF_DIRECTORY) return at;
  }
  throw brokenZip();
}

const brokenZip = () => new XlsxError('the file is a broken or cut off zip');

async function* unpack(file: Buffer, { method, packedBytes, header }: Part): AsyncGenerator<Uint8Array> {
  if (header + LOCAL_HEADER_BYTES > file.length) throw brokenZip();
  // The name and the extra field may be longer here than in the directory.
  const start = header + LOCAL_HEADER_BYTES + file.readUInt16LE(header + 26) + file.readUInt16LE(header + 28);
  const packed = file.subarray(start, start + packedBytes);
  if (packed.length < packedBytes) throw brokenZip();
  if (method === STORED) yield* slices(packed);
  else if (method === DEFLATED) yield* inflate(packed);
  else throw new XlsxError('the file is packed in a way that is not supported');
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}

async function* inflate(packed: Buffer): AsyncGenerator<Uint8Array> {
  const inflated = createInflateRaw();
  const done = pipeline(Readable.from(slices(packed)), inflated);
  done.catch(() => {});
  let unpackedBytes = 0;
  try {
    for await (const part of inflated as AsyncIterable<Buffer>) {
      unpackedBytes += part.length;
      if (unpackedBytes > MAX_PART_BYTES) {
        throw new XlsxError(`the file has more than ${MAX_PART_BYTES / MIB} MiB when unpacked`);
      }
      if (unpackedBytes > RATIO_FROM_BYTES && unpackedBytes > packed.length * MAX_RATIO) {
        throw new XlsxError(`the file unpacks to more than ${MAX_RATIO} times its size`);
      }
      yield part;
    }
    await done;
  } catch (error) {
    throw error instanceof XlsxError ? error : brokenZip();
  }
}

/** An XLSX file that cannot be read to its end. The message is for its sender. It has no capital and no full stop. */
export class XlsxError extends Error {
  override name = 'XlsxError';
}
