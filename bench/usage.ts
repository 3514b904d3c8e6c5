import { readFile, writeFile } from 'node:fs/promises';

/** The memory of a process, from Linux's /proc; see proc(5). */
interface Memory {
  /** Peak of resident memory since it began, or since `forgetPeak`, in MB. */
  peak: number;
  /** Resident memory now, in MB. */
  now: number;
}

export async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1_024) / 1e6;
  return { peak: megabytes('VmHWM'), now: megabytes('VmRSS') };
}

/** Ticks of a second in /proc, the same on all Linux systems (USER_HZ, time(7)). */
const TICKS = 100;

/** Processor time that a process has used, in milliseconds. Its resolution is 10 ms. */
export async function processorTimeOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // Behind the name, which may have spaces: utime and stime are the 14th and 15th fields.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS;
}

/** Resets the peak of a process. */
export const forgetPeak = (pid: number) => writeFile(`/proc/${pid}/clear_refs`, '5');
