import { type ProcessSeen, readProcesses } from '../database/heartbeat.ts';
import type { Sql } from '../database/transaction.ts';
import { findProcessTroubles, findServerTroubles, type SeenServers, withRefusal } from './servers.ts';
import { type Figures, readFigures } from './state/figures.ts';
import { sortTroubles, type Trouble } from './trouble.ts';
import { findWebhookTroubles } from './webhooks.ts';
import { findBookTroubles, findImportTroubles, findSourceTroubles } from './work.ts';

/** The one answer to "is anything wrong?". The console, the command line, the metrics and the alerts show it. */
export interface Verdict {
  at: Date;
  servers: SeenServers;
  /** null while MySQL cannot be read. `servers` then says why. */
  work: { figures: Figures; processes: ProcessSeen[] } | null;
  /** The worst first. Empty: all is well. */
  troubles: Trouble[];
}

/** Objects of each kind of trouble that are named one by one. The others are counted. */
const NAMED = 10;

/**
 * Reads the verdict.
 * @param sql null: MySQL cannot be read.
 * @param seen what the caller sees of MySQL and Redis.
 * @param readSeenProcesses reads the heartbeats. Default: as they are now.
 */
export async function readVerdict(
  sql: Sql | null,
  seen: SeenServers,
  readSeenProcesses: (sql: Sql) => Promise<ProcessSeen[]> = readProcesses,
): Promise<Verdict> {
  const at = new Date();
  if (sql === null)
    return { at, servers: seen, work: null, troubles: sortTroubles(findServerTroubles(seen, false)) };
  const [figures, processes] = await Promise.all([readFigures(sql), readSeenProcesses(sql)]);
  const servers = withRefusal(seen, processes);
  const found = await Promise.all([
    findWebhookTroubles(sql, figures, NAMED),
    findImportTroubles(sql, figures, processes, NAMED),
    findSourceTroubles(sql, figures, NAMED),
    findBookTroubles(sql, figures, NAMED),
  ]);
  const troubles = [
    ...findServerTroubles(servers, true),
    ...findProcessTroubles(processes, servers, figures),
    ...found.flat(),
  ];
  return { at, servers, work: { figures, processes }, troubles: sortTroubles(troubles) };
}
