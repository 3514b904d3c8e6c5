import { readdirSync, readFileSync } from 'node:fs';

/** The processes of the service that a supervisor has started, by their ids. */
export function childrenOf(supervisor: number | undefined): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isChild(name, supervisor))
    .map(Number);
}

function isChild(pid: string, parent: number | undefined): boolean {
  try {
    const ofParent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1];
    return Number(ofParent) === parent && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('role-main');
  } catch {
    return false;
  }
}
