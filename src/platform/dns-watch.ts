import { LRUCache } from 'lru-cache';
import { systemClock } from './system-clock.ts';

/**
 * Tells whether the DNS servers of this machine answer at all. A name whose own servers are down is a matter of its owner. If no name is
 * answered, the machine is the cause, and no endpoint can be judged.
 */

/** The code of the error if no DNS server has answered for a name, as `dns.lookup` has it. */
export const DNS_FAILED = 'EAI_AGAIN';

/** Without any answer for this long, the DNS servers count as silent. Milliseconds. */
const SILENT_AFTER = 30_000;

/** Names of other customers that get no answer either are waited for. Milliseconds. */
const OTHERS_WITHIN = 10_000;

/** So many customers must be affected, or all that there are. */
const ENOUGH_CUSTOMERS = 3;

/** While the servers are silent, a name is tried this often. Milliseconds. */
const TRY_EVERY = 1_000;

export interface DnsWatch {
  /** A DNS server has answered, be it that a name does not exist. */
  answered(): void;
  /** A name of this customer is about to be looked up. */
  asks(customerId: string): void;
  /**
   * A name of this customer got no answer: a time-out, or SERVFAIL. Waits until it is known whose matter that is, for 30 s at most.
   * @param lasted how long ago the lookup began. Milliseconds.
   * @returns true: the DNS servers are silent. false: they have answered other names, or it cannot be told.
   */
  isSilentFor(customerId: string, lasted: number): Promise<boolean>;
  /** Whether a name may be looked up now: always, unless the servers are silent. Then now and then, to notice when they are back. */
  mayAsk(): boolean;
  /** The problem, in words that follow "DNS". null: there is none. */
  problem(): string | null;
  /** Ends all waits, because the process stops. */
  stop(): void;
}

export function createDnsWatch(clock: Pick<typeof systemClock, 'now' | 'after'> = systemClock): DnsWatch {
  /** A few customers are enough to compare with. */
  const asking = new LRUCache<string, true>({ max: ENOUGH_CUSTOMERS });
  const unanswered = new LRUCache<string, true>({ max: ENOUGH_CUSTOMERS });
  const waiting = new Set<() => void>();
  let answeredAt = clock.now();
  let triedAt = Number.NEGATIVE_INFINITY;
  let isStopped = false;

  const isSilent = () =>
    unanswered.size > 0 && unanswered.size >= asking.size && clock.now() - answeredAt >= SILENT_AFTER;

  const wakeAll = () => {
    for (const wake of waiting) wake();
    waiting.clear();
  };

  return {
    answered() {
      answeredAt = clock.now();
      unanswered.clear();
      wakeAll();
    },
    asks: (customerId) => void asking.set(customerId, true),
    async isSilentFor(customerId, lasted) {
      if (answeredAt >= clock.now() - lasted) return false;
      unanswered.set(customerId, true);
      if (isSilent()) wakeAll();
      else if (!isStopped)
        await new Promise<void>((resolve) => {
          const left = answeredAt + SILENT_AFTER - clock.now();
          const cancel = clock.after(Math.max(left, OTHERS_WITHIN), resolve);
          waiting.add(() => {
            cancel();
            resolve();
          });
        });
      return isStopped || isSilent();
    },
    mayAsk() {
      if (!isSilent()) return true;
      if (clock.now() - triedAt < TRY_EVERY) return false;
      triedAt = clock.now();
      return true;
    },
    problem: () => (isSilent() ? 'gives no answers: deliveries wait, and no attempt is used up' : null),
    stop() {
      isStopped = true;
      wakeAll();
    },
  };
}
