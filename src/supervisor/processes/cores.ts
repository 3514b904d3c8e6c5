import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

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
