import { ROLES, type RoleName } from '../platform/roles.ts';

/** A process of the supervisor: its name in logs, metrics and the console, and its roles. */
export interface ProcessPlan {
  name: string;
  roles: readonly RoleName[];
}

/** More have not been measured. Each opens up to 20 connections to MySQL, of which a server allows 151 unless it is told otherwise. */
const MOST_BY_DEFAULT = 4;

/** The number of processes without --processes and PROCESSES. */
export const defaultCount = (cores: number): number => Math.min(cores, MOST_BY_DEFAULT);

/**
 * Spreads the roles over processes. One process has all roles. Otherwise every second process, from the first one, answers the API and
 * imports, and the others deliver. Maintenance is in the first of these. docs/production.md has the measurements.
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
