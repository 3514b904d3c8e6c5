import { Unzip, UnzipInflate } from 'fflate';
import { peek, START_BYTES } from '../peek.ts';
import { inMib, type Limits, RATIO_FROM_BYTES } from '../settings.ts';
import { UnreadableFileError } from '../unreadable.ts';
import { BrokenGzipError, gunzip, toLatin1 } from './bytes.ts';
import { isAppleDocument, isOpenDocument, isOtherOfficeDocument, isZip } from './zip-parts.ts';

/** Unpacks gzip and zip while the bytes arrive. The first bytes of a file say how it is packed, not its name. */

/**
 * How many times a file may be packed. A packed file may contain another, such as a zip that was sent with `Content-Encoding:
 * gzip`.
 */
const MAX_DEPTH = 2;

/** Packed bytes that the unzipper gets at a time. It returns all their unpacked bytes at once. */
const SLICE_BYTES = 16 * 1024;

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
  limits: Limits,
  { name = null, depth = 0 }: { name?: string | null; depth?: number } = {},
): AsyncGenerator<UnpackedFile> {
  const { start, bytes } = await peek(sent, START_BYTES);
  const packing = packingOf(start.subarray(0, START_BYTES));
  if (packing === null) {
    yield { name, bytes };
    return;
  }
  if (depth === MAX_DEPTH) throw unpackError('The file is packed more than twice.');
  if (packing === 'gzip') {
    yield* unpack(unpackGzip(bytes, limits), limits, { name, depth: depth + 1 });
    return;
  }
  for await (const file of unzip(bytes, limits))
    yield* unpack(file.bytes, limits, { name: file.name, depth: depth + 1 });
}

function packingOf(start: Uint8Array): 'gzip' | 'zip' | null {
  if (start[0] === 0x1f && start[1] === 0x8b) return 'gzip';
  return isZip(start) && !isDocument(start) ? 'zip' : null;
}

/** Whether a zip is one file of a program, whose parts are no files. */
const isDocument = (start: Uint8Array): boolean =>
  looksLikeXlsx(start) || isOpenDocument(start) || isAppleDocument(start) || isOtherOfficeDocument(start);

/**
 * Whether bytes begin an XLSX file: a zip whose first part has a name that such files have. It is not unpacked here.
 * @param start the first 64 bytes or more.
 */
export const looksLikeXlsx = (start: Uint8Array): boolean =>
  isZip(start) && /^(\[Content_Types\]\.xml|_rels\/|docProps\/|xl\/)/.test(toLatin1(start.subarray(30, 60)));

const unpackError = (message: string) => new UnreadableFileError(message, undefined, 'archive');

/** Counts packed and unpacked bytes. @throws {UnreadableFileError} when there are too many. */
function createCount({ unpackedBytes, unpackRatio }: Limits) {
  let packed = 0;
  let unpacked = 0;
  return {
    addPacked: (bytes: number) => {
      packed += bytes;
    },
    addUnpacked(bytes: number) {
      unpacked += bytes;
      if (unpacked > unpackedBytes) {
        throw unpackError(`The file has more than ${inMib(unpackedBytes)} when unpacked.`);
      }
      if (unpacked > RATIO_FROM_BYTES && unpacked > packed * unpackRatio) {
        throw unpackError(`The file unpacks to more than ${unpackRatio} times its size.`);
      }
    },
  };
}

async function* unpackGzip(packed: AsyncIterable<Uint8Array>, limits: Limits): AsyncGenerator<Uint8Array> {
  const count = createCount(limits);
  async function* counted() {
    for await (const part of packed) {
      count.addPacked(part.length);
      yield part;
    }
  }
  try {
    for await (const part of gunzip(counted())) {
      count.addUnpacked(part.length);
      yield part;
    }
  } catch (error) {
    if (!(error instanceof BrokenGzipError)) throw error;
    throw unpackError('The file is gzip, and is broken or cut off.');
  }
}

const DEFLATED = 8;
const STORED = 0;
const ENCRYPTED = 1;

async function* unzip(
  packed: AsyncIterable<Uint8Array>,
  limits: Limits,
): AsyncGenerator<{ name: string; bytes: AsyncIterable<Uint8Array> }> {
  const count = createCount(limits);
  const source = slices(packed);
  const unzipper = new Unzip();
  unzipper.register(UnzipInflate);
  /** Files that have begun, with their unpacked bytes that were not read yet. */
  const files: { name: string; parts: Uint8Array[]; isComplete: boolean; isLeft: boolean }[] = [];
  let found = 0;
  unzipper.onfile = (file) => {
    // Some programs write the folders of Windows.
    const name = file.name.replaceAll('\\', '/');
    if (name.endsWith('/')) return;
    found += 1;
    if (found > limits.files) throw unpackError(`The zip contains more than ${limits.files} files.`);
    checkFile(name, file.compression);
    const entry = { name, parts: [] as Uint8Array[], isComplete: false, isLeft: false };
    files.push(entry);
    file.ondata = (error, data, isLast) => {
      if (error !== null) throw error;
      count.addUnpacked(data.length);
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
      if (value !== undefined) count.addPacked(value.length);
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

const BROKEN_ZIP = () => unpackError('The file is a zip, and is empty, broken or cut off.');

function checkFile(name: string, compression: number): void {
  if (/^(?:\/|[A-Za-z]:)/.test(name) || name.split('/').includes('..')) {
    throw unpackError('The zip names a file outside of its own folder.');
  }
  if (compression !== DEFLATED && compression !== STORED) {
    throw unpackError('The zip is packed in a way that is not supported: use deflate.');
  }
}

/** Cuts bytes into small slices. @throws {UnreadableFileError} when the zip is encrypted, which its first header says. */
async function* slices(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  let isFirst = true;
  for await (const part of packed) {
    if (isFirst && ((part[6] ?? 0) & ENCRYPTED) === ENCRYPTED) {
      throw unpackError('The zip is encrypted: send the file without a password.');
    }
    isFirst = false;
    for (let at = 0; at < part.length; at += SLICE_BYTES) yield part.subarray(at, at + SLICE_BYTES);
  }
  return undefined;
}
