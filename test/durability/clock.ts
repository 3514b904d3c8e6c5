import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The library of Debian's package libfaketime, by architecture. */
const LIBRARIES = ['x86_64', 'aarch64'].map(
  (machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`,
);

/** The clock of MySQL and of all roles. The receivers and the checker use the real time. */
export interface Clock {
  /** False if libfaketime is not installed. Then the clock never jumps. */
  canJump: boolean;
  /** Environment of the processes that use this clock. */
  env: Record<string, string>;
  /** Sets the clock this many seconds ahead of the real time. */
  set(offsetSeconds: number): void;
}

/** @param directory for the file that sets the clock of the processes. */
export function createClock(directory: string): Clock {
  const library = LIBRARIES.find(existsSync);
  const file = join(directory, 'clock');
  const set = (offsetSeconds: number) => {
    // Moved into place, so that no process reads half of it.
    writeFileSync(`${file}.new`, `${offsetSeconds < 0 ? '' : '+'}${offsetSeconds}\n`);
    renameSync(`${file}.new`, file);
  };
  if (library === undefined) return { canJump: false, env: {}, set: () => {} };
  set(0);
  return {
    canJump: true,
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      // Setting a real clock changes only the time of day. The monotonic clock continues.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // Otherwise the timed waits of MySQL 9 end immediately, and its threads spin.
      FAKETIME_FORCE_MONOTONIC_FIX: '0',
    },
    set,
  };
}
