/** POSTs begun in one pass of the event loop, by all webhooks together, and by one of them before the next has its turn. */
const PER_PASS = 8;
const PER_TURN = 2;

/** The first sends of a run are not held back: backlogs up to this size bypass fair dispatch. */
export const SMALL_BACKLOG = 10;

/**
 * Lets webhooks take turns. One with thousands of pending deliveries would else fill each pass of the event loop with milliseconds
 * of work, and a webhook with a single one would wait for several such passes. It limits how many POSTs begin in one pass, not how
 * many are in flight.
 */
export interface FairDispatch {
  /** Begins a POST when it is the webhook's turn. */
  add(webhookId: string, begin: () => void): void;
}

export function createFairDispatch({ perPass = PER_PASS, perTurn = PER_TURN } = {}): FairDispatch {
  /** In the order of their turns. */
  const waiting = new Map<string, (() => void)[]>();
  let passing = false;

  function pass(): void {
    passing = false;
    let left = perPass;
    for (const [webhookId, begins] of waiting) {
      if (left === 0) break;
      const turn = begins.splice(0, Math.min(perTurn, left));
      left -= turn.length;
      waiting.delete(webhookId);
      if (begins.length > 0) waiting.set(webhookId, begins);
      for (const begin of turn) begin();
    }
    if (waiting.size > 0) nextPass();
  }

  function nextPass(): void {
    if (passing) return;
    passing = true;
    setImmediate(pass);
  }

  return {
    add(webhookId, begin) {
      const begins = waiting.get(webhookId);
      if (begins === undefined) waiting.set(webhookId, [begin]);
      else begins.push(begin);
      nextPass();
    },
  };
}
