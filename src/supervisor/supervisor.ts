import { hostname } from 'node:os';
import type { DataSource } from 'typeorm';
import { publishToken, withLocalToken } from '../console/operators-api.ts';
import { startOps } from '../console/server.ts';
import { startHeartbeat } from '../database/heartbeat.ts';
import { markKilled } from '../database/processes.ts';
import { openRuntime } from '../database/runtime.ts';
import { inTransaction } from '../database/transaction.ts';
import { recordEvent } from '../delivery/operational-event.ts';
import type { Config } from '../platform/config.ts';
import { createLog } from '../platform/log.ts';
import { abandonStart, type Stop, stopOnce } from '../platform/stopping.ts';
import { findServers } from '../servers/embedded.ts';
import type { Service } from '../service.ts';
import { createProcessGroup, type KilledProcess, type ProcessGroup } from './processes/process-group.ts';
import type { ProcessPlan, RoleProcess } from './processes/role-process.ts';

/** Starts the service in several processes, under one supervisor. */

export interface StartOptions {
  config: Config;
  /** Receives one-line messages for a person. */
  announce: (line: string) => void;
  /** Aborts the start, which then rejects with the signal's reason. */
  signal?: AbortSignal;
}

const SECOND = 1_000;

export type SupervisedService = Service &
  Pick<ProcessGroup, 'failed'> & {
    /**
     * Gives all processes, this one too, the passwords, keys and URLs of a configuration that was read again. Checks them first.
     * @returns whether all processes were replaced.
     * @throws when the new values do not work. Then nothing has changed.
     */
    restart(next: Config): Promise<boolean>;
  };

/** Shows operators that a process was killed: in its row of `processes`, and as an operational event. */
function recordKilled(database: DataSource, { name, pid, silentFor }: KilledProcess): Promise<void> {
  return inTransaction(database, async (sql) => {
    const host = hostname();
    await markKilled(sql, { host, pid });
    await recordEvent(sql, {
      type: 'process.killed',
      customerId: null,
      data: { process: name, host, pid, silent_for_seconds: silentFor },
    });
  });
}

/** How long a restart waits for the servers of the new configuration. */
const RESTART_PATIENCE = 10 * SECOND;

/**
 * Starts the service in several processes. This process has the embedded servers, the migrations and the operators' listener. It starts
 * processes that die again.
 * @param forked the processes, which are loading the program.
 * @throws when a process cannot start. Then nothing is left running.
 */
export async function startSupervised(
  { config: given, announce, signal }: StartOptions,
  forked: readonly { plan: ProcessPlan; process: RoleProcess }[],
): Promise<SupervisedService> {
  const started: Stop[] = [];
  const stop = stopOnce(started);
  const config = withLocalToken(given);
  try {
    const { stop: stopServers, ...servers } = await findServers(config, announce, signal);
    started.push(stopServers);
    const log = createLog(config.logLevel, 'supervisor');
    const migrations = config.databaseUrl === undefined ? 'run' : 'expect';
    let runtime = await openRuntime(config, servers, { log, announce, migrations, signal });
    started.push(() => runtime.close());
    const onKilled = (killed: KilledProcess) => {
      log.error(killed, 'a process was killed because it did not answer');
      runtime.metrics.processes.killed();
      recordKilled(runtime.database, killed).catch((err: unknown) =>
        log.warn({ err }, 'killed process not recorded'),
      );
    };
    const group = createProcessGroup({ config, servers }, { announce, onKilled });
    started.push(() => group.stop());
    await Promise.all(forked.map(({ plan, process }) => group.add(plan, process)));
    signal?.throwIfAborted();
    // Started after the API, so that it never takes the API's port.
    const ops = await startOps(runtime, () => group.findOperatorsUrl(), group);
    started.push(() => ops.stop());
    started.push(publishToken(runtime, ops.commandsUrl, announce));
    const beat = () => startHeartbeat(runtime, ['supervisor'], 'supervisor');
    let heartbeat = await beat();
    started.push(() => heartbeat.stop());
    signal?.throwIfAborted();

    async function restart(next: Config): Promise<boolean> {
      const changed = {
        config: { ...withLocalToken(next, config), admin: next.admin ?? config.admin },
        servers: {
          databaseUrl: next.databaseUrl ?? servers.databaseUrl,
          redisUrl: next.redisUrl ?? servers.redisUrl,
          secretKey: next.secretKey ?? servers.secretKey,
        },
      };
      const before = { runtime, heartbeat };
      // Fails if one of the new values is wrong.
      runtime = await openRuntime(changed.config, changed.servers, {
        ...{ log, announce, signal },
        migrations: 'expect',
        startTimeout: RESTART_PATIENCE,
      });
      try {
        const isWhole = await group.restart(changed);
        if (signal?.aborted) return false;
        ops.use(runtime);
        await before.heartbeat.stop();
        heartbeat = await beat();
        return isWhole;
      } finally {
        await before.runtime.close();
      }
    }
    return { url: group.url(), opsUrl: ops.url, runtime, failed: group.failed, restart, stop };
  } catch (error) {
    return await abandonStart(error, async () => {
      await stop();
      for (const { process } of forked) process.kill();
    });
  }
}
