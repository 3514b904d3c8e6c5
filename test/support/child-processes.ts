import { readdirSync, readFileSync } from 'node:fs';

/**
 * The ids of the processes of the service that a supervisor has started.
 * @param name only those with this name, such as api-1.
 */
export function childrenOf(supervisor: number | undefined, name?: string): number[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && isChild(pid, supervisor, name))
    .map(Number);
}

function isChild(pid: string, parent: number | undefined, name: string | undefined): boolean {
  try {
    const ofParent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1];
    const [, program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const isOurs = Number(ofParent) === parent && program.includes('role-main');
    return isOurs && (name === undefined || args.includes(name));
  } catch {
    return false;
  }
}
