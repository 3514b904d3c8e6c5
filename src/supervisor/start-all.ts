import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { ROLES } from '../platform/config.ts';
import { createLog } from '../platform/log.ts';
import type { Service } from '../service.ts';
import { defaultCount, forkRoleProcess, planProcesses } from './processes/role-process.ts';
import type { StartOptions, SupervisedService } from './supervisor.ts';
import { compileEarlier } from './v8-settings.ts';

/** Decides in how many processes the service starts, and starts it. */

const CGROUPS = '/sys/fs/cgroup';

/**
 * How many cores this process may use, at least 1: the cores of its CPU affinity, or fewer if a control group limits its processor time.
 * The number is rounded down.
 */
export function countCores(): number {
  return Math.max(1, Math.floor(Math.min(availableParallelism(), cgroupLimit())));
}

/**
 * The limit of this process's control group and its parents, in cores. Infinity: no limit. Version 2 has the file `cpu.max` (kernel
 * documentation, cgroup-v2.rst). Version 1 has `cpu.cfs_quota_us` and `cpu.cfs_period_us`.
 */
function cgroupLimit(): number {
  const limits = read('/proc/self/cgroup')
    .split('\n')
    .flatMap((line) => {
      const [, controllers = '', path = ''] = line.split(':');
      if (controllers === '')
        return withParents(path).map((folder) => quotaOf(read(join(CGROUPS, folder, 'cpu.max'))));
      if (!controllers.split(',').includes('cpu')) return [];
      return withParents(path).map((folder) => {
        const file = (name: string) => read(join(CGROUPS, 'cpu', folder, name));
        return quotaOf(`${file('cpu.cfs_quota_us')} ${file('cpu.cfs_period_us')}`);
      });
    });
  return Math.min(...limits, Number.POSITIVE_INFINITY);
}

/** Inside a container, the path may be a path of the host. Then only the root exists, and it belongs to the container. */
const withParents = (path: string): string[] =>
  path === '/' || path === '.' ? ['/'] : [path, ...withParents(dirname(path))];

/** @param text quota and period in microseconds. The quota is `max` or -1 if there is no limit. */
export function quotaOf(text: string): number {
  const [quota, period] = text.trim().split(/\s+/).map(Number);
  const cores = Number(quota) / Number(period);
  return cores > 0 ? cores : Number.POSITIVE_INFINITY;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

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
