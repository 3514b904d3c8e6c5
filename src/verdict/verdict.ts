import { mysqlProblem } from '../database/errors.ts';
import { type ServerState, stateOf, within } from '../database/health.ts';
import { type ProcessSeen, readProcesses } from '../database/processes.ts';
import type { Sql } from '../database/transaction.ts';
import type { RoleName } from '../platform/config.ts';
import {
  countRoles,
  findProcessTroubles,
  findServerTroubles,
  type SeenServers,
  withRefusal,
} from './servers.ts';
import { type Figures, readFigures } from './state/figures.ts';
import { sortTroubles, type Trouble } from './trouble.ts';
import { findWebhookTroubles } from './webhooks.ts';
import { findBookTroubles, findImportTroubles, findSourceTroubles } from './work.ts';

/** Whether anything is wrong, and with what. The console, `status` and the metrics ask here. */

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

/** A reading that MySQL does not answer within this time is left out. Milliseconds. */
export const READ_LIMIT = 3_000;

/**
 * Reads the verdict. If MySQL cannot be read, because a table is locked for example, the verdict says why, and has no `work`.
 * @param sql null: MySQL cannot be read.
 * @param seen what the caller sees of MySQL and Redis.
 * @param readSeenProcesses reads the heartbeats, and may take its time. Default: as they are now.
 */
export async function readVerdict(
  sql: Sql | null,
  seen: SeenServers,
  readSeenProcesses: (sql: Sql) => Promise<ProcessSeen[]> = readProcesses,
): Promise<Verdict> {
  const at = new Date();
  const without = (mysql: ServerState): Verdict => {
    const servers = seen.mysql === 'ok' ? { ...seen, mysql } : seen;
    return { at, servers, work: null, troubles: sortTroubles(findServerTroubles(servers)) };
  };
  if (sql === null) return without(seen.mysql);
  try {
    const processes = await readSeenProcesses(sql);
    const read = readWith(sql, { at, seen, processes });
    return (await within<Verdict | null>(read, READ_LIMIT, () => null)) ?? without('does not answer');
  } catch (error) {
    const problem = mysqlProblem(error);
    if (problem === null) throw error;
    return without(stateOf(problem));
  }
}

async function readWith(
  sql: Sql,
  { at, seen, processes }: { at: Date; seen: SeenServers; processes: ProcessSeen[] },
): Promise<Verdict> {
  const figures = await readFigures(sql);
  const servers = withRefusal(seen, processes);
  const found = await Promise.all([
    findWebhookTroubles(sql, figures, NAMED),
    findImportTroubles(sql, figures, processes, NAMED),
    findSourceTroubles(sql, figures, NAMED),
    findBookTroubles(sql, figures, NAMED),
  ]);
  const troubles = [
    ...findServerTroubles(servers),
    ...findProcessTroubles(processes, servers, figures),
    ...found.flat(),
  ];
  return { at, servers, work: { figures, processes }, troubles: sortTroubles(troubles) };
}

/** How many running processes have each role. null: not known. A process that cannot write its heartbeat may be running. */
export const runningRoles = ({ servers, work }: Verdict): Record<RoleName, number> | null =>
  work === null || servers.mysql !== 'ok' ? null : countRoles(work.processes);
