import type { EnginePorts } from '../../../src/delivery/engine/ports.ts';
import { LeaseLostError } from '../../../src/delivery/engine/record-results.ts';
import { readFilters, readLog, readRetries, readWebhook } from './reads.ts';
import type { Tables } from './tables.ts';
import { disableWebhook, expandReplay, quarantine, recordResults, renewLease, takeLease } from './writes.ts';

/** What the ports do with the tables, at once and without faults. `engine-ports.ts` does the same with latency, faults and checks. */
export function createTablePorts(
  tables: Tables,
  now: () => number,
  { page, token }: { page: number; token: () => string },
): Pick<EnginePorts, 'movementLog' | 'retries' | 'results'> & {
  webhooks: Omit<EnginePorts['webhooks'], 'openSettings'>;
} {
  return {
    movementLog: { read: async (request) => readLog(tables, request, page, null) },
    retries: {
      read: async (_, options) => readRetries(tables, now(), options),
      async expandReplay() {
        const { again, replaying } = expandReplay(tables, now(), page);
        return { added: again.length, replaying };
      },
    },
    webhooks: {
      async readState() {
        const { state, refiltered } = readWebhook(tables, now());
        return refiltered ? { ...state, filters: readFilters(tables) } : state;
      },
      takeLease: async (request) => takeLease(tables, now(), { ...request, token: token() }),
      renewLeases: async (held) => held.filter((lease) => renewLease(tables, now(), lease)),
      disable: async ({ revision }) => disableWebhook(tables, revision),
      claimProbe: async () => true,
      wakeAfterProbe: () => {},
      endProbe: async () => {},
      quarantine: async () => quarantine(tables),
    },
    results: {
      async record([first]) {
        if (first !== undefined && recordResults(tables, now(), first) === 'lost') throw new LeaseLostError();
        return [{ revision: tables.webhook.revision, health: null }];
      },
    },
  };
}
