import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where Debian's package libfaketime puts it, by architecture. */
const LIBRARIES = ['x86_64', 'aarch64'].map(
  (machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`,
);

/** The clock of MySQL and of all roles. The receivers and the judge keep the true one. */
export interface Clock {
  /** False where libfaketime is not installed: then it never jumps. */
  canJump: boolean;
  /** For the processes that shall live by it. */
  env: Record<string, string>;
  /** From now on it is so many seconds ahead of the true time. */
  set(offsetSeconds: number): void;
}

/** @param directory where the file lies by which the processes are told. */
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
      // A clock that is set changes the time of day; what measures durations goes on evenly.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    set,
  };
}
