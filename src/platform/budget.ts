/** Shares what a process can do at the same time among customers. */

interface Waiting {
  owner: string;
  amount: number;
  /** @param granted false: the request has waited too long. */
  end(granted: boolean): void;
}

interface Budget {
  /**
   * Reserves an amount for an owner, and waits until it is free.
   * @param amount at most `perOwner`.
   * @returns a function that releases it; null if it did not become free in time.
   */
  reserve(owner: string, amount: number): Promise<(() => void) | null>;
  /** Whether an owner waits. */
  isAwaited(): boolean;
}

/** For `patience`: as long as timers can wait, which is 24 days. */
export const FOREVER = 2 ** 31 - 1;

/**
 * Shares a total among owners: bytes, or pieces of work at the same time. Grants requests in their order. Passes over a request whose owner is at its limit, so that
 * it does not hold up the other owners.
 * @param options.patience milliseconds that a request waits at most.
 */
export function createBudget({
  total,
  perOwner,
  patience,
}: {
  total: number;
  perOwner: number;
  patience: number;
}): Budget {
  const reserved = new Map<string, number>();
  const waiting = new Set<Waiting>();
  let free = total;

  function add(owner: string, amount: number): void {
    const sum = (reserved.get(owner) ?? 0) + amount;
    if (sum > 0) reserved.set(owner, sum);
    else reserved.delete(owner);
    free -= amount;
  }

  function grantNext(): void {
    for (const next of waiting) {
      if ((reserved.get(next.owner) ?? 0) + next.amount > perOwner) continue;
      if (next.amount > free) return;
      add(next.owner, next.amount);
      next.end(true);
    }
  }

  return {
    isAwaited: () => waiting.size > 0,
    async reserve(owner, amount) {
      const granted = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => request.end(false), patience);
        const request: Waiting = {
          owner,
          amount,
          end(isGranted) {
            clearTimeout(timer);
            waiting.delete(request);
            resolve(isGranted);
          },
        };
        waiting.add(request);
        grantNext();
      });
      // This request may have held up the requests behind it.
      if (!granted) grantNext();
      return granted
        ? () => {
            add(owner, -amount);
            grantNext();
          }
        : null;
    },
  };
}
