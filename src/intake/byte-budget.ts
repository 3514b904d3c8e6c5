interface Waiting {
  owner: string;
  bytes: number;
  /** @param granted false: the request has waited too long. */
  end(granted: boolean): void;
}

interface ByteBudget {
  /**
   * Reserves bytes for an owner, and waits until they are free.
   * @param bytes at most `perOwner`.
   * @returns a function that releases them; null if they did not become free in time.
   */
  reserve(owner: string, bytes: number): Promise<(() => void) | null>;
  /** Whether an owner waits. */
  isAwaited(): boolean;
}

/** For `patience`: as long as timers can wait, which is 24 days. */
export const FOREVER = 2 ** 31 - 1;

/**
 * Shares a number of bytes among owners. Grants requests in their order. Passes over a request whose owner is at its limit, so that
 * it does not hold up the other owners.
 * @param options.patience milliseconds that a request waits at most.
 */
export function createByteBudget({
  total,
  perOwner,
  patience,
}: {
  total: number;
  perOwner: number;
  patience: number;
}): ByteBudget {
  const reserved = new Map<string, number>();
  const waiting = new Set<Waiting>();
  let free = total;

  function add(owner: string, bytes: number): void {
    const sum = (reserved.get(owner) ?? 0) + bytes;
    if (sum > 0) reserved.set(owner, sum);
    else reserved.delete(owner);
    free -= bytes;
  }

  function grantNext(): void {
    for (const next of waiting) {
      if ((reserved.get(next.owner) ?? 0) + next.bytes > perOwner) continue;
      if (next.bytes > free) return;
      add(next.owner, next.bytes);
      next.end(true);
    }
  }

  return {
    isAwaited: () => waiting.size > 0,
    async reserve(owner, bytes) {
      const granted = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => request.end(false), patience);
        const request: Waiting = {
          owner,
          bytes,
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
            add(owner, -bytes);
            grantNext();
          }
        : null;
    },
  };
}
