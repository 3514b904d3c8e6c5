import { ROLES, type RoleName } from '../../platform/config.ts';

/** A process of the supervisor: its name in logs, metrics and the console, and its roles. */
export interface ProcessPlan {
  name: string;
  roles: readonly RoleName[];
}

/** More processes have not been measured. Each opens up to 20 connections to MySQL, which allows 151 by default. */
const MOST_BY_DEFAULT = 4;

/** The number of processes without --processes and PROCESSES. */
export const defaultCount = (cores: number): number => Math.min(cores, MOST_BY_DEFAULT);

/**
 * Spreads the roles over processes. A single process has all roles. Otherwise every second process, beginning with the first, answers the
 * API and imports. The others deliver, and the first of them also does maintenance. docs/production.md has the measurements.
 */
export function planProcesses(count: number): ProcessPlan[] {
  if (count === 1) return [{ name: 'main', roles: ROLES }];
  return Array.from({ length: count }, (_, at): ProcessPlan => {
    const number = Math.floor(at / 2) + 1;
    if (at % 2 === 0) return { name: `api-${number}`, roles: ['api', 'importer'] };
    return {
      name: `delivery-${number}`,
      roles: number === 1 ? ['delivery', 'maintenance'] : ['delivery'],
    };
  });
}
