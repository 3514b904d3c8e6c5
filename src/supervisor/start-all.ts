import { ROLES } from '../platform/config.ts';
import { createLog } from '../platform/log.ts';
import type { Service } from '../service.ts';
import { countCores } from './processes/cores.ts';
import { defaultCount, planProcesses } from './processes/layout.ts';
import { forkRoleProcess } from './processes/role-process.ts';
import type { StartOptions, SupervisedService } from './supervisor.ts';
import { compileEarlier } from './v8-settings.ts';

/**
 * Starts the whole service in `config.processes` processes. Default: one per core, four at most.
 * @returns the service and the names of its processes. There are no names if it runs in this process.
 * @throws when the service cannot start. Then nothing is left running.
 */
export async function startAll(
  options: StartOptions,
): Promise<{ service: Service | SupervisedService; names: string[] }> {
  const { config } = options;
  const count = config.processes ?? defaultCount(countCores());
  if (count === 1) {
    const { startService } = await import('../service.ts');
    compileEarlier();
    const log = createLog(config.logLevel);
    return { service: await startService({ ...options, roles: ROLES, log }), names: [] };
  }
  // Loading the program takes most of the start, so all processes load it at the same time. For the same reason, it is imported only here.
  const forked = planProcesses(count).map((plan) => ({ plan, process: forkRoleProcess(plan.name) }));
  const { startSupervised } = await import('./supervisor.ts');
  const names = forked.map(({ plan }) => plan.name);
  return { service: await startSupervised(options, forked), names };
}
