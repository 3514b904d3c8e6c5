import { systemClock } from './ports.ts';

/**
 * Shares the event loop among webhooks. A webhook with thousands of pending deliveries would otherwise fill each pass of the event
 * loop with milliseconds of work, and a webhook with a single delivery would wait for several such passes. It limits how many POSTs
 * begin in one pass, not how many are in flight.
 */
export interface FairDispatch {
  /** Begins a POST in one of the next passes. */
  add(webhookId: string, begin: () => void): void;
}

/** POSTs begun in one pass of the event loop: by all webhooks together, and by one webhook before the next one's follow. */
const PER_PASS = 8;
const PER_WEBHOOK = 2;

/** Backlogs up to this size bypass fair dispatch: the first sends of a run begin immediately. */
export const SMALL_BACKLOG = 10;

export function createFairDispatch({
  nextPass = systemClock.nextPass,
  perPass = PER_PASS,
  perWebhook = PER_WEBHOOK,
} = {}): FairDispatch {
  /** In the order in which the webhooks are served. */
  const waiting = new Map<string, (() => void)[]>();
  let isPassScheduled = false;

  function pass(): void {
    isPassScheduled = false;
    let left = perPass;
    for (const [webhookId, begins] of waiting) {
      if (left === 0) break;
      const batch = begins.splice(0, Math.min(perWebhook, left));
      left -= batch.length;
      waiting.delete(webhookId);
      if (begins.length > 0) waiting.set(webhookId, begins);
      for (const begin of batch) begin();
    }
    if (waiting.size > 0) schedulePass();
  }

  function schedulePass(): void {
    if (isPassScheduled) return;
    isPassScheduled = true;
    nextPass(pass);
  }

  return {
    add(webhookId, begin) {
      const begins = waiting.get(webhookId);
      if (begins === undefined) waiting.set(webhookId, [begin]);
      else begins.push(begin);
      schedulePass();
    },
  };
}
