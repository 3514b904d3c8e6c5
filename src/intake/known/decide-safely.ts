import { UnreadableFileError } from '../../../packages/statements/src/unreadable.ts';
import { inParts } from '../../platform/batcher.ts';
import { createBudget } from '../../platform/budget.ts';
import { createThreadPool, exchange, isOutOfMemory } from '../../platform/thread.ts';
import { decideAll, type RowDecisions, type RowsToDecide } from './decide-rows.ts';
import type { FromDecideThread, ToDecideThread } from './decide-thread.ts';

/** Decides which rows of a file are stored movements without blocking the process. */

const SECOND = 1_000;

/** Up to this many rows and statements, file and stored, are decided without a thread, because this takes only a few milliseconds. */
const [FEW_ROWS, FEW_STATEMENTS] = [1_000, 20];

/** How many rows are in one message. */
const PART = 1_000;

/** The time that a thread may take, and megabytes of its heap. */
const DEADLINE = 30 * SECOND;
const MEMORY_LIMIT = 1_024;

/** Nothing of the file is wrong, but it would take too long to decide which of its rows are known. Rows that are not decided are not stored. */
export class TooMuchToCompareError extends UnreadableFileError {
  override name = 'TooMuchToCompareError';

  constructor(
    message: string,
    /** The same file may be accepted later. */
    readonly isTemporary = false,
  ) {
    super(message);
  }
}

const tooLong = (deadline: number) =>
  `Comparing the file with what is stored takes more than ${deadline / SECOND} s. Send it in several files.`;
const TOO_LARGE = 'Comparing the file with what is stored needs too much memory. Send it in several files.';
const BUSY = 'Other files are being compared with what is stored. Send this one again later.';

/** Threads at a time in a process, and how long an import waits for its turn. */
const turns = createBudget({ total: 2, perOwner: 1, patience: 4 * DEADLINE });

const threads = createThreadPool(new URL('./decide-thread', import.meta.url), {
  workerData: null,
  memoryLimit: MEMORY_LIMIT,
});

/**
 * Decides as `decideAll` does, in a thread if there is much to compare.
 * @param owner the customer.
 * @throws {TooMuchToCompareError} when a limit of time or memory is exceeded.
 */
export async function decideRows(
  owner: string,
  input: RowsToDecide,
  deadline = DEADLINE,
): Promise<RowDecisions> {
  if (isFew(input)) return decideAll(input);
  const release = await turns.reserve(owner, 1);
  if (release === null) throw new TooMuchToCompareError(BUSY, true);
  const thread = threads.take();
  const signal = AbortSignal.timeout(deadline);
  let isDone = false;
  try {
    const decided: RowDecisions = { identities: [], warnings: [] };
    const question: ToDecideThread = 'decisions wanted';
    const answers = exchange<FromDecideThread>(thread, { parts: partsOf(input), question, signal });
    for await (const { identities, warnings } of answers) {
      decided.identities.push(...identities);
      decided.warnings.push(...warnings);
    }
    isDone = true;
    return decided;
  } catch (error) {
    if (signal.aborted) throw new TooMuchToCompareError(tooLong(deadline));
    throw isOutOfMemory(error) ? new TooMuchToCompareError(TOO_LARGE) : error;
  } finally {
    if (isDone) threads.giveBack(thread);
    else void thread.terminate();
    release();
  }
}

function* partsOf({
  accountId,
  importId,
  mayAssume,
  stored,
  statements,
}: RowsToDecide): Generator<ToDecideThread> {
  const { useNumbers, currency } = stored;
  yield { begin: { accountId, importId, mayAssume }, useNumbers, currency };
  for (const movements of inParts(stored.movements, PART)) yield { movements };
  for (const repeated of inParts(stored.repeated, PART)) yield { repeated };
  for (const headers of inParts(stored.headers, PART)) yield { headers };
  for (const { rows, indexes, ...statement } of statements) {
    yield { statement };
    for (let at = 0; at < rows.length; at += PART)
      yield { rows: rows.slice(at, at + PART), indexes: indexes.slice(at, at + PART) };
  }
}

function isFew({ stored, statements }: RowsToDecide): boolean {
  const { movements, repeated, headers } = stored;
  const rows = statements.reduce((sum, it) => sum + it.rows.length, movements.length + repeated.length);
  return rows <= FEW_ROWS && statements.length + headers.length <= FEW_STATEMENTS;
}
