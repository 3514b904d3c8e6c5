import type { InjectedFault } from './faults/inject.ts';
import type { FaultKind } from './plan.ts';
import type { Receipt } from './receipts.ts';

const SECOND = 1_000;

/**
 * Milliseconds before and after a fault in which a POST may have been answered without its result being committed. null for a
 * fault that causes no duplicates: Redis only decides which process works, while results are in MySQL; the victim of a deadlock
 * tries again.
 */
function reachOf(kind: FaultKind): { before: number; after: number } | null {
  if (kind === 'kill delivery') return { before: 3 * SECOND, after: SECOND };
  if (kind === 'stop delivery' || kind === 'spin delivery') return { before: 3 * SECOND, after: 2 * SECOND };
  // Results wait until they can be recorded, and nothing is sent again.
  if (kind === 'mysql locked table') return null;
  if (kind.startsWith('mysql')) return { before: 3 * SECOND, after: 3 * SECOND };
  if (kind === 'kill connections') return { before: 3 * SECOND, after: 3 * SECOND };
  // A lease seems to have expired, or was taken by a clock that was ahead.
  if (kind === 'clock jump') return { before: 3 * SECOND, after: 5 * SECOND };
  if (kind.startsWith('receiver') || kind === 'kill receivers') return { before: SECOND, after: SECOND };
  return null;
}

/**
 * The fault that explains why a POST was sent again after a successful answer, or null when there is none.
 * @param affected whether a fault of receivers affected this webhook.
 */
export function causeOf(
  answered: Pick<Receipt, 'at' | 'answeredAt'>,
  faults: readonly InjectedFault[],
  affected: (fault: InjectedFault) => boolean,
): InjectedFault | null {
  const cause = faults.find((fault) => {
    const reach = reachOf(fault.kind);
    if (reach === null || !affected(fault)) return false;
    const since = Math.min(fault.start - reach.before, waitingSince(fault, faults));
    return (answered.answeredAt ?? answered.at) >= since && answered.at <= fault.end + reach.after;
  });
  return cause ?? null;
}

/** A delivery process that is killed or stopped while results cannot be recorded loses those that wait. */
function waitingSince({ kind, start }: InjectedFault, faults: readonly InjectedFault[]): number {
  if (!['kill delivery', 'stop delivery', 'spin delivery'].includes(kind)) return start;
  const unrecorded = faults.filter(
    (it) =>
      ['mysql locked table', 'mysql disk full', 'mysql read-only'].includes(it.kind) &&
      it.start <= start &&
      start <= it.end + SECOND,
  );
  return Math.min(start, ...unrecorded.map((it) => it.start - SECOND));
}
