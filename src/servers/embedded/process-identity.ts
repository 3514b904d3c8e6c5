import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import { isCode, readIfThere } from '../private-file.ts';

/** Identifies a process even if its pid is used again. `startTime` is only compared. */
export const ProcessIdentity = v.object({
  pid: v.pipe(v.number(), v.integer(), v.minValue(1)),
  startTime: v.string(),
});
export type ProcessIdentity = v.InferOutput<typeof ProcessIdentity>;

/** The process that has this pid now; null if there is none, or if it is a zombie. */
export function identify(pid: number): ProcessIdentity | null {
  const startTime = existsSync('/proc/self/stat') ? startTimeFromProc(pid) : startTimeFromPs(pid);
  return startTime === null ? null : { pid, startTime };
}

export function isAlive(identity: ProcessIdentity): boolean {
  const found = identify(identity.pid);
  return found !== null && isSameStart(found.startTime, identity.startTime);
}

/** Compares the boot's id only if both have it, because a sandbox may hide it (ProcSubset=pid of systemd). */
const isSameStart = (a: string, b: string): boolean =>
  a === b || (a.startsWith(':') && b.endsWith(a)) || (b.startsWith(':') && a.endsWith(b));

/**
 * Ends a process that is not a child of this one: SIGTERM, then SIGKILL after `grace` milliseconds. Resolves when it has ended.
 * A later process with the same pid is left alone.
 */
export async function endProcess(identity: ProcessIdentity, grace: number): Promise<void> {
  const deadline = Date.now() + grace;
  signal(identity, 'SIGTERM');
  while (isAlive(identity)) {
    if (Date.now() > deadline) {
      signal(identity, 'SIGKILL');
    }
    await sleep(50);
  }
}

function signal(identity: ProcessIdentity, name: NodeJS.Signals): void {
  try {
    if (isAlive(identity)) {
      process.kill(identity.pid, name);
    }
  } catch (error) {
    if (!isCode(error, 'ESRCH')) {
      throw error;
    }
  }
}

/** proc(5): field 3 is the state, field 22 the start in ticks since boot. They are unique only together with the boot's id. */
function startTimeFromProc(pid: number): string | null {
  let stat: string | null;
  try {
    stat = readIfThere(`/proc/${pid}/stat`);
  } catch (error) {
    if (isCode(error, 'ESRCH')) {
      return null;
    }
    throw error;
  }
  // The name in field 2 may itself contain spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  const [state, ticks] = [fields[0], fields[19]];
  if (ticks === undefined || state === 'Z' || state === 'X') {
    return null;
  }
  return `${readIfThere('/proc/sys/kernel/random/boot_id')?.trim() ?? ''}:${ticks}`;
}

/** macOS and the BSDs have no /proc. */
function startTimeFromPs(pid: number): string | null {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    const [state = 'Z', ...start] = line.split(/\s+/);
    return state.startsWith('Z') ? null : start.join(' ');
  } catch {
    return null;
  }
}
