/** POSTs begun by one pass of the event loop, in all, and by one webhook before another has its turn. */
const PER_PASS = 8;
const PER_TURN = 2;

/** Milliseconds. After a webhook that was owed little was served, others like it are expected for as long. */
const EXPECT_FOR = 500;
/** As long as that, passes are moved apart, a millisecond at a time, until the process is at work for this part of the time. */
const SHARE = 0.25;
const ADJUST_EVERY = 20;
const FURTHEST_APART = 10;

/**
 * Rations the POSTs that one pass of the event loop begins. Those that are owed thousands would else fill each pass with
 * milliseconds of work, and whoever is owed one movement would wait for several such passes: one for each answer of Redis
 * and MySQL before its POST. How many are in flight is not limited by this, only how many begin at once. While webhooks that
 * are owed little come and go, passes are moved apart as well, until a quarter of the process's time is used: the rest of the
 * machine, MySQL first, is then not kept busy by the backlog of a few.
 */
export interface Starts {
  /** Calls `begin` for as long as it returns true, in turns with the others, over as many passes as that takes. */
  share(begin: () => boolean): void;
  /** A webhook that was owed little has been served. */
  servedLittle(): void;
}

export function createStarts({ perPass = PER_PASS, perTurn = PER_TURN } = {}): Starts {
  const waiting = new Set<() => boolean>();
  let left = perPass;
  let passing = false;
  let expectUntil = Number.NEGATIVE_INFINITY;
  let apart = 0;
  let adjustedAt = performance.now();
  let used = performance.eventLoopUtilization();

  /** @returns whether it may want to begin more. */
  function takeTurn(begin: () => boolean): boolean {
    for (let turn = Math.min(perTurn, left); turn > 0; turn -= 1) {
      if (!begin()) return false;
      left -= 1;
    }
    return true;
  }

  /** Milliseconds to the next pass. */
  function adjust(): number {
    const now = performance.now();
    if (now - adjustedAt < ADJUST_EVERY) return apart;
    const before = used;
    used = performance.eventLoopUtilization();
    adjustedAt = now;
    const tooMuch = now < expectUntil && performance.eventLoopUtilization(used, before).utilization > SHARE;
    apart = Math.min(FURTHEST_APART, Math.max(0, apart + (tooMuch ? 1 : -1)));
    return apart;
  }

  function nextPass(): void {
    if (passing) return;
    passing = true;
    const delay = adjust();
    if (delay > 0) setTimeout(pass, delay);
    else setImmediate(pass);
  }

  function pass(): void {
    passing = false;
    left = perPass;
    for (const begin of waiting) {
      if (left === 0) break;
      waiting.delete(begin);
      if (takeTurn(begin)) waiting.add(begin);
    }
    if (waiting.size > 0) nextPass();
  }

  return {
    share(begin) {
      if (waiting.has(begin)) return;
      if (takeTurn(begin)) waiting.add(begin);
      // Also when nobody waits: what was begun now counts for this pass only.
      nextPass();
    },
    servedLittle() {
      expectUntil = performance.now() + EXPECT_FOR;
    },
  };
}
