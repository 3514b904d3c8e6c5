import { type ChainStatement, findPeriods, type Period } from '../../../packages/reconcile/src/periods.ts';
import { inParts } from '../../platform/batcher.ts';
import { createBudget } from '../../platform/budget.ts';
import { Problem } from '../../platform/problem.ts';
import { exchange, isOutOfMemory, startThread } from '../../platform/thread.ts';
import type { FromChainThread, ToChainThread } from './chain-thread.ts';

/** Finds the periods of an account without blocking the process. */

const SECOND = 1_000;

/** Up to this many statements are compared without a thread, because this takes only a few milliseconds. */
const FEW = 500;

/** How many statements are looked at in one pass of the event loop. */
const STATEMENTS_PER_PASS = 500;

/** The time limit of a thread. It finds the periods of 20,000 statements in less than a second. */
const DEADLINE = 10 * SECOND;

/** Allows one thread at a time in a process. */
const turns = createBudget({ total: 1, perOwner: 1, patience: DEADLINE });

/**
 * Finds the periods of an account. Uses a thread if there are many statements.
 * @param statements in any order.
 * @throws {Problem} 503 when a thread has not found the periods within 10 s or needs too much memory, or other accounts use the thread
 * for that long.
 */
export async function findPeriodsOf(
  accountId: string,
  statements: readonly ChainStatement[],
): Promise<Period[]> {
  if (statements.length <= FEW) return findPeriods(statements);
  const release = await turns.reserve(accountId, 1);
  if (release === null) throw tooLong();
  const thread = startThread(new URL('./chain-thread', import.meta.url), { workerData: null });
  const signal = AbortSignal.timeout(DEADLINE);
  try {
    const parts: Iterable<ToChainThread> = inParts(statements, STATEMENTS_PER_PASS);
    const question: ToChainThread = 'periods wanted';
    const found: Period[] = [];
    for await (const { periods } of exchange<FromChainThread>(thread, { parts, question, signal }))
      for (const { places, ...period } of periods)
        found.push({ ...period, statements: places.map((place) => statements[place] as ChainStatement) });
    return found;
  } catch (error) {
    throw signal.aborted || isOutOfMemory(error) ? tooLong() : error;
  } finally {
    void thread.terminate();
    release();
  }
}

const tooLong = () =>
  new Problem(
    'overloaded',
    `The statements of the account were not compared within ${DEADLINE / SECOND} s. Try again later.`,
    { headers: { 'Retry-After': String(DEADLINE / SECOND) } },
  );
