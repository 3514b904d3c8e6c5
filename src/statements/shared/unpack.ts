import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Unzip, UnzipInflate } from 'fflate';
import { peek } from '../peek.ts';
import { UnreadableFileError } from '../unreadable.ts';

/** Unpacks gzip and zip while the bytes arrive. The first bytes of a file say how it is packed, not its name. */

const MIB = 1024 * 1024;

/** The most bytes that a file may have when unpacked. */
const MAX_UNPACKED_BYTES = 1024 * MIB;

/** Statements are text, which packs to about a tenth. A file that unpacks to more than this many times its size is refused. */
const MAX_RATIO = 200;
/** Up to this size, the ratio is not checked. */
const RATIO_FROM_BYTES = 16 * MIB;

/**
 * How many times a file may be packed. A packed file may contain another, such as a zip that was sent with `Content-Encoding:
 * gzip`.
 */
const MAX_DEPTH = 2;

/** Packed bytes that the unzipper gets at a time. It returns all their unpacked bytes at once. */
const SLICE_BYTES = 16 * 1024;

/** The most files in one zip. */
const MAX_FILES = 1_000;

/** Enough bytes for the beginning of a gzip or a zip. */
const HEADER_BYTES = 64;

/** One file, unpacked. A zip can contain several. */
export interface UnpackedFile {
  /** The file's name within the zip; null if it came alone. */
  name: string | null;
  bytes: AsyncIterable<Uint8Array>;
}

/**
 * Yields the file that was sent, or the files in it. The unread rest of a file is dropped when the next one is requested.
 * @throws {UnreadableFileError} when the file is broken, encrypted, too large when unpacked, or names a path outside of its folder.
 */
export async function* unpack(
  sent: AsyncIterable<Uint8Array>,
  { name = null, depth = 0 }: { name?: string | null; depth?: number } = {},
): AsyncGenerator<UnpackedFile> {
  const { start, bytes } = await peek(sent, HEADER_BYTES);
  const packing = packingOf(start);
  if (packing === null) {
    yield { name, bytes };
    return;
  }
  if (depth === MAX_DEPTH) throw new UnreadableFileError('The file is packed more than twice.');
  if (packing === 'gzip') {
    yield* unpack(gunzip(bytes), { name, depth: depth + 1 });
    return;
  }
  for await (const file of unzip(bytes)) yield* unpack(file.bytes, { name: file.name, depth: depth + 1 });
}

function packingOf(start: Uint8Array): 'gzip' | 'zip' | null {
  if (start[0] === 0x1f && start[1] === 0x8b) return 'gzip';
  if (start[0] !== 0x50 || start[1] !== 0x4b || start[2] !== 3 || start[3] !== 4) return null;
  return isSpreadsheet(start) ? null : 'zip';
}

/** An XLSX file is a zip too, but is not unpacked here. It begins with one of these names. */
const isSpreadsheet = (start: Uint8Array): boolean =>
  /^(\[Content_Types\]\.xml|_rels\/|docProps\/|xl\/)/.test(
    Buffer.from(start.subarray(30, 60)).toString('latin1'),
  );

/** Counts packed and unpacked bytes. @throws {UnreadableFileError} when there are too many. */
function createLimit() {
  let packed = 0;
  let unpacked = 0;
  return {
    addPacked: (bytes: number) => {
      packed += bytes;
    },
    addUnpacked(bytes: number) {
      unpacked += bytes;
      if (unpacked > MAX_UNPACKED_BYTES) {
        throw new UnreadableFileError(
          `The file has more than ${MAX_UNPACKED_BYTES / MIB} MiB when unpacked.`,
        );
      }
      if (unpacked > RATIO_FROM_BYTES && unpacked > packed * MAX_RATIO) {
        throw new UnreadableFileError(`The file unpacks to more than ${MAX_RATIO} times its size.`);
      }
    },
  };
}

async function* gunzip(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const limit = createLimit();
  async function* counted() {
    for await (const part of packed) {
      limit.addPacked(part.length);
      yield part;
    }
  }
  const gunzipped = createGunzip();
  const done = pipeline(Readable.from(counted(), { objectMode: false }), gunzipped);
  done.catch(() => {});
  try {
    for await (const part of gunzipped as AsyncIterable<Buffer>) {
      limit.addUnpacked(part.length);
      yield part;
    }
    await done;
  } catch (error) {
    // Other errors come from the source of the bytes.
    if (!isZlibError(error)) throw error;
    throw new UnreadableFileError('The file is gzip, and is broken or cut off.');
  }
}

const isZlibError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');

const DEFLATED = 8;
const STORED = 0;
const ENCRYPTED = 1;

async function* unzip(
  packed: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ name: string; bytes: AsyncIterable<Uint8Array> }> {
  const limit = createLimit();
  const source = slices(packed);
  const unzipper = new Unzip();
  unzipper.register(UnzipInflate);
  /** Files that have begun, with their unpacked bytes that were not read yet. */
  const files: { name: string; parts: Uint8Array[]; isComplete: boolean; isLeft: boolean }[] = [];
  let found = 0;
  unzipper.onfile = (file) => {
    if (file.name.endsWith('/')) return;
    found += 1;
    checkFile(file.name, found, file.compression);
    const entry = { name: file.name, parts: [] as Uint8Array[], isComplete: false, isLeft: false };
    files.push(entry);
    file.ondata = (error, data, isLast) => {
      if (error !== null) throw error;
      limit.addUnpacked(data.length);
      if (data.length > 0 && !entry.isLeft) entry.parts.push(data);
      entry.isComplete ||= isLast;
    };
    file.start();
  };
  let isOver = false;
  const advance = async () => {
    const { value, done } = await source.next();
    isOver = done === true;
    try {
      if (value !== undefined) limit.addPacked(value.length);
      unzipper.push(value ?? new Uint8Array(), isOver);
    } catch (error) {
      if (error instanceof UnreadableFileError) throw error;
      throw BROKEN_ZIP();
    }
  };
  async function* read(file: (typeof files)[number]): AsyncGenerator<Uint8Array> {
    for (;;) {
      yield* file.parts.splice(0);
      if (file.isComplete && file.parts.length === 0) return;
      if (isOver) throw BROKEN_ZIP();
      await advance();
    }
  }
  for (;;) {
    const file = files.shift();
    if (file !== undefined) {
      yield { name: file.name, bytes: read(file) };
      // The file's reader may have stopped before its end. The rest is unpacked on the way to the next file, and dropped.
      file.isLeft = true;
      file.parts.length = 0;
    } else if (isOver) break;
    else await advance();
  }
  if (found === 0) throw BROKEN_ZIP();
}

const BROKEN_ZIP = () => new UnreadableFileError('The file is a zip, and is empty, broken or cut off.');

function checkFile(name: string, count: number, compression: number): void {
  if (count > MAX_FILES) throw new UnreadableFileError(`The zip contains more than ${MAX_FILES} files.`);
  if (name.startsWith('/') || name.includes('\\') || name.split('/').includes('..')) {
    throw new UnreadableFileError('The zip names a file outside of its own folder.');
  }
  if (compression !== DEFLATED && compression !== STORED) {
    throw new UnreadableFileError('The zip is packed in a way that is not supported: use deflate.');
  }
}

/** Cuts bytes into small slices. @throws {UnreadableFileError} when the zip is encrypted, which its first header says. */
async function* slices(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  let isFirst = true;
  for await (const part of packed) {
    if (isFirst && ((part[6] ?? 0) & ENCRYPTED) === ENCRYPTED) {
      throw new UnreadableFileError('The zip is encrypted: send the file without a password.');
    }
    isFirst = false;
    for (let at = 0; at < part.length; at += SLICE_BYTES) yield part.subarray(at, at + SLICE_BYTES);
  }
  return undefined;
}
