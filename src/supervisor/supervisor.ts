import { startHeartbeat } from '../console/heartbeat.ts';
import { startOps } from '../console/server.ts';
import type { Config } from '../platform/config/config.ts';
import { createLog } from '../platform/log.ts';
import { ROLES } from '../platform/roles.ts';
import { openRuntime } from '../platform/runtime.ts';
import { findServers } from '../platform/servers.ts';
import { abandonStart, type Stop, stopInReverse } from '../platform/stopping.ts';
import { type Service, startService } from '../service.ts';
import { countCores } from './cores.ts';
import { type ProcessPlan, planProcesses } from './layout.ts';
import { createProcessGroup, type ProcessGroup } from './process-group.ts';
import { forkRoleProcess } from './role-process.ts';

export type SupervisedService = Service & Pick<ProcessGroup, 'failed' | 'restart'>;

interface StartOptions {
  config: Config;
  /** Receives one-line messages for a person. */
  announce: (line: string) => void;
  /** Aborts the start, which then rejects with the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Starts the whole service, in as many processes as `config.processes` says or the machine has cores for.
 * @returns the service, and the names of its processes. It has none when it runs in this process.
 * @throws when it cannot start. Nothing is left running then.
 */
export async function startAll(
  options: StartOptions,
): Promise<{ service: Service | SupervisedService; names: string[] }> {
  const { config } = options;
  const count = config.processes ?? countCores();
  if (count === 1) {
    const log = createLog(config.logLevel);
    return { service: await startService({ ...options, roles: ROLES, log }), names: [] };
  }
  const plans = planProcesses(count);
  return { service: await startSupervised(options, plans), names: plans.map(({ name }) => name) };
}

/**
 * Starts the service in several processes. This process has the embedded servers, the migrations and the operators' listener, and
 * starts a process again that dies.
 * @throws when a process cannot start. Nothing is left running then.
 */
async function startSupervised(
  { config, announce, signal }: StartOptions,
  plans: readonly ProcessPlan[],
): Promise<SupervisedService> {
  // They load the program while the servers start.
  const forked = plans.map((plan) => ({ plan, process: forkRoleProcess(plan.name) }));
  const started: Stop[] = [];
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= stopInReverse(started);
    return stopping;
  };
  try {
    const { stop: stopServers, ...servers } = await findServers(config, announce, signal);
    started.push(stopServers);
    const log = createLog(config.logLevel, 'supervisor');
    const migrations = config.databaseUrl === undefined ? 'run' : 'expect';
    const runtime = await openRuntime(config, servers, { log, announce, migrations, signal });
    started.push(() => runtime.close());
    const group = createProcessGroup({ config, servers }, announce);
    started.push(() => group.stop());
    await Promise.all(forked.map(({ plan, process }) => group.add(plan, process)));
    signal?.throwIfAborted();
    // After the API, so that it never takes the API's port.
    const ops = await startOps(runtime, group);
    started.push(() => ops.stop());
    const heartbeat = await startHeartbeat(runtime, ['supervisor'], 'supervisor');
    started.push(() => heartbeat.stop());
    signal?.throwIfAborted();
    const { failed, restart } = group;
    return { url: group.url(), opsUrl: ops.url, runtime, failed, restart, stop };
  } catch (error) {
    return await abandonStart(error, async () => {
      await stop();
      for (const { process } of forked) process.kill();
    });
  }
}
