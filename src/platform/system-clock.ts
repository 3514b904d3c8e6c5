/** The clock and the timers of this process. Code whose waits are tested takes them as an argument. */
export const systemClock = {
  /** Milliseconds since 1970 that never go back within a process, even if the system clock is set back. */
  now: () => performance.timeOrigin + performance.now(),
  /** Milliseconds since 1970 by the system clock. */
  wallTime: Date.now,
  /** Calls back after some milliseconds. @returns a function that cancels the timer. */
  after(milliseconds: number, callback: () => void): () => void {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
  /** Calls back in the next pass of the event loop. */
  nextPass: (callback: () => void): void => void setImmediate(callback),
};
