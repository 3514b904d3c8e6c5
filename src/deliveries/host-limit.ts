/**
 * Limits how many POSTs a process has in flight from one customer to one host. Otherwise, a customer could turn many webhooks against a
 * host of somebody else. A webhook may always have one POST in flight, so that those of its neighbours that hang do not hold it up, and
 * the POSTs of other customers do not count.
 */
export interface HostLimit {
  /** Makes the slots of a webhook for one of its runs. */
  open(customerId: string, origin: string): HostSlots;
}

interface HostSlots {
  /** Begins a POST, now or when the limit allows it. */
  enter(begin: () => void): void;
  /** Called when a POST that was begun has ended. */
  leave(): void;
}

const MOST_IN_FLIGHT = 128;

interface Host {
  inFlight: number;
  /** The webhooks with POSTs that wait, in the order in which they are served. */
  waiting: Set<Waiting>;
}

interface Waiting {
  inFlight: number;
  begins: (() => void)[];
}

export function createHostLimit(most = MOST_IN_FLIGHT): HostLimit {
  const hosts = new Map<string, Host>();

  function start(host: Host, webhook: Waiting, begin: () => void): void {
    host.inFlight += 1;
    webhook.inFlight += 1;
    begin();
  }

  /** Begins the next POST of a webhook, and lets the others come first after that. */
  function startNext(host: Host, webhook: Waiting): void {
    const begin = webhook.begins.shift();
    host.waiting.delete(webhook);
    if (webhook.begins.length > 0) host.waiting.add(webhook);
    if (begin !== undefined) start(host, webhook, begin);
  }

  return {
    open(customerId, origin) {
      const key = `${customerId} ${origin}`;
      const own: Waiting = { inFlight: 0, begins: [] };
      return {
        enter(begin) {
          const host = hosts.get(key) ?? { inFlight: 0, waiting: new Set() };
          hosts.set(key, host);
          if (own.inFlight === 0 || host.inFlight < most) return start(host, own, begin);
          own.begins.push(begin);
          host.waiting.add(own);
        },
        leave() {
          const host = hosts.get(key);
          if (host === undefined) return;
          host.inFlight -= 1;
          own.inFlight -= 1;
          if (own.inFlight === 0 && own.begins.length > 0) return startNext(host, own);
          const [next] = host.waiting;
          if (next !== undefined && host.inFlight < most) return startNext(host, next);
          if (host.inFlight === 0) hosts.delete(key);
        },
      };
    },
  };
}
