import { randomUUID } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import { BrokenOffError } from './api-client.ts';
import { type CommandContext, Failure } from './context.ts';
import { createProgress } from './import-progress.ts';

/** Writes a CSV of the API to standard output, or to a file that is there only once it is whole. */

interface Target {
  /** undefined: standard output. */
  output: string | undefined;
  /** Whether a file that exists is replaced. */
  force: boolean;
}

/**
 * Writes a CSV as its parts come, and shows how many rows have come.
 * @returns the number of rows, without the line of names.
 * @throws {Failure} when the CSV breaks off, or the file cannot be written.
 */
export async function writeCsv(
  { terminal }: CommandContext,
  parts: AsyncIterable<Uint8Array>,
  { output, force }: Target,
): Promise<number> {
  const counter = createRowCounter();
  // A terminal that shows the rows themselves needs no bar between them.
  const shown = output === undefined && process.stdout.isTTY ? parts : showProgress(parts, counter);
  try {
    if (output !== undefined) await writeWhole(output, shown, { force });
    else for await (const part of shown) if (!(await terminal.bytes(part))) break;
    return counter.rows;
  } catch (error) {
    if (!(error instanceof BrokenOffError)) throw error;
    const left = output === undefined ? 'What was written is not whole' : `${output} was not written`;
    throw new Failure(`${error.message} ${left}. Run the command again.`);
  }
}

/** Passes the parts on, and shows the number of their rows until they end. */
async function* showProgress(
  parts: AsyncIterable<Uint8Array>,
  counter: RowCounter,
): AsyncGenerator<Uint8Array> {
  const bar = createProgress('Exporting', 'rows');
  let isStarted = false;
  try {
    for await (const part of parts) {
      // The first part comes once the request is accepted.
      if (!isStarted) bar.start(undefined);
      isStarted = true;
      counter.count(part);
      bar.update(counter.rows);
      yield part;
    }
  } finally {
    if (isStarted) bar.stop();
  }
}

interface RowCounter {
  /** Without the line of names. */
  readonly rows: number;
  count(part: Uint8Array): void;
}

const [QUOTE, LINE_FEED] = Buffer.from('"\n');

/** Creates a counter of the rows of a CSV (RFC 4180). A line end within quotes ends no row. */
export function createRowCounter(): RowCounter {
  let lines = 0;
  let isQuoted = false;
  return {
    get rows() {
      return Math.max(0, lines - 1);
    },
    count(part) {
      for (const byte of part) {
        // A doubled quote changes it twice.
        if (byte === QUOTE) isQuoted = !isQuoted;
        else if (byte === LINE_FEED && !isQuoted) lines += 1;
      }
    },
  };
}

/**
 * Checks that a file may be written.
 * @returns the permissions of the file that will be replaced, if there is one.
 * @throws {Failure} when it exists, unless `force`, and when it is no file.
 */
export async function requireFree(
  path: string,
  { force }: Pick<Target, 'force'>,
): Promise<number | undefined> {
  const found = await stat(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw cannotWrite(path, error);
  });
  if (found === null) return undefined;
  if (!found.isFile()) throw new Failure(`--output must be a file. ${path} is none.`);
  if (!force)
    throw new Failure(`${path} exists. Name another file with --output, or replace it with --force.`);
  return found.mode & 0o777;
}

/** Writes a file beside `path`, and gives it that name once it is whole. It is removed if it does not become whole. */
async function writeWhole(
  path: string,
  parts: AsyncIterable<Uint8Array>,
  { force }: Pick<Target, 'force'>,
): Promise<void> {
  const draft = `${path}.${randomUUID()}.part`;
  const failed = (error: unknown) => {
    throw cannotWrite(path, error);
  };
  const file = await open(draft, 'wx', await requireFree(path, { force })).catch(failed);
  try {
    try {
      for await (const part of parts) await file.writeFile(part).catch(failed);
      await file.sync().catch(failed);
    } finally {
      await file.close();
    }
    // Another program may have made the file since the first check.
    await requireFree(path, { force });
    await rename(draft, path).catch(failed);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

const cannotWrite = (path: string, error: unknown): Failure =>
  new Failure(
    `${path} cannot be written (${error instanceof Error && 'code' in error ? error.code : error}).`,
  );
