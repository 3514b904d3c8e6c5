interface Waiting {
  owner: string;
  bytes: number;
  /** @param granted false: it has waited too long. */
  end(granted: boolean): void;
}

interface ByteBudget {
  /**
   * Reserves bytes for an owner, and waits until they are free.
   * @param bytes at most `perOwner`.
   * @returns a function that releases them; null when they have not become free in time.
   */
  reserve(owner: string, bytes: number): Promise<(() => void) | null>;
}

/**
 * Shares a number of bytes among owners. Requests are granted in their order. One that waits only for bytes of its own owner is
 * passed over, so that an owner at its limit does not hold up the others.
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
      // One that gave up may have held up those behind it.
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
