import { createBatcher } from '../../platform/batcher.ts';
import type { Log } from '../../platform/log.ts';
import type { Lease } from '../../webhook-record/lease.ts';
import type { CancelTimer, EnginePorts } from './ports.ts';

/** Renews the leases of the runs of one process. */

/** How often leases are renewed. Recording results also renews a lease, but a run whose endpoint hangs has no results to record. */
const RENEW_EVERY = 4_000;

export interface LeaseRenewal {
  /** Renews this lease every four seconds from now on. */
  add(lease: Lease): void;
  remove(lease: Lease): void;
  /** Renews a lease now. Leases that are passed together are renewed together. */
  renewNow(lease: Lease): void;
  /** Renews nothing more. */
  stop(): void;
}

/** @param renewed is told of each lease that is still held, and since when. */
export function createLeaseRenewal(
  { webhooks, clock, log }: Pick<EnginePorts, 'webhooks' | 'clock'> & { log: Log },
  renewed: (webhookId: string, at: number) => void,
): LeaseRenewal {
  const leases = new Set<Lease>();
  let isStopped = false;
  let cancelRenewal: CancelTimer | null = null;

  function renewLater(): void {
    cancelRenewal = clock.after(RENEW_EVERY, () => {
      cancelRenewal = null;
      if (leases.size === 0) return;
      void renew([...leases]);
      renewLater();
    });
  }

  async function renew(held: readonly Lease[]): Promise<void> {
    const began = clock.now();
    try {
      for (const { webhookId } of await webhooks.renewLeases(held)) renewed(webhookId, began);
    } catch (err) {
      log.warn({ err }, 'leases not renewed');
    }
  }

  const renewOne = createBatcher(async (held: readonly Lease[]) => {
    await renew(held);
    return held.map(() => undefined);
  });

  return {
    add(lease) {
      leases.add(lease);
      if (cancelRenewal === null && !isStopped) renewLater();
    },
    remove: (lease) => void leases.delete(lease),
    renewNow: (lease) => void renewOne(lease),
    stop() {
      isStopped = true;
      cancelRenewal?.();
    },
  };
}
