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

/** Resets the peak of a process. */
export const forgetPeak = (pid: number) => writeFile(`/proc/${pid}/clear_refs`, '5');
