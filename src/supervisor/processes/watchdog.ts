/** Decides which processes no longer answer and are ended. The caller keeps the time, sends the pings and kills. */

const SECOND = 1_000;

/** Time between two pings. */
export const PING_EVERY = 5 * SECOND;

/** A process that misses this many pings in a row is killed, which is 30 s after the first of them. */
export const MOST_MISSED = 6;

/** If a tick comes this much too late, the machine was busy or asleep, and the processes may have had no time to answer. */
const LATE = 2 * SECOND;

export interface Watchdog<Process> {
  /**
   * Called every 5 s.
   * @param now milliseconds since 1970.
   * @param processes those that are ready.
   * @returns the processes to ping, and those to kill.
   */
  tick(now: number, processes: readonly Process[]): { ping: Process[]; kill: Process[] };
  /** Called when a process has answered. */
  answered(process: Process): void;
}

export function createWatchdog<Process extends object>(): Watchdog<Process> {
  const watched = new WeakMap<Process, { isAsked: boolean; missed: number }>();
  let last: number | null = null;
  return {
    tick(now, processes) {
      const isLate = last !== null && now - last > PING_EVERY + LATE;
      last = now;
      const ping: Process[] = [];
      const kill: Process[] = [];
      for (const process of processes) {
        const state = watched.get(process) ?? { isAsked: false, missed: 0 };
        watched.set(process, state);
        if (state.isAsked && !isLate) state.missed += 1;
        if (state.missed >= MOST_MISSED) kill.push(process);
        // Its ping is still on its way. When the process goes on, it answers that one.
        else if (!state.isAsked) ping.push(process);
        state.isAsked = true;
      }
      return { ping, kill };
    },
    answered: (process) => void watched.set(process, { isAsked: false, missed: 0 }),
  };
}
