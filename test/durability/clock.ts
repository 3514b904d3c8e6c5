import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The library of Debian's package libfaketime, by architecture. */
const LIBRARIES = ['x86_64', 'aarch64'].map(
  (machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`,
);

/** The clocks of MySQL and of the processes of the service. The receivers and the checker use the real time. */
export interface Clock {
  /** False if libfaketime is not installed. Then no clock ever jumps. */
  canJump: boolean;
  /** Environment of MySQL, and of the processes of the service. */
  mysqlEnv: Record<string, string>;
  env: Record<string, string>;
  /** Sets all clocks, or only those of the service, this many seconds ahead of the real time. */
  set(offsetSeconds: number, whose?: 'all' | 'service'): void;
}

/** @param directory for the files that set the clocks. */
export function createClock(directory: string): Clock {
  const library = LIBRARIES.find(existsSync);
  if (library === undefined) return { canJump: false, mysqlEnv: {}, env: {}, set: () => {} };
  const files = { mysql: join(directory, 'clock-of-mysql'), service: join(directory, 'clock') };
  const setOne = (file: string, offsetSeconds: number) => {
    // Moved into place, so that no process reads half of it.
    writeFileSync(`${file}.new`, `${offsetSeconds < 0 ? '' : '+'}${offsetSeconds}\n`);
    renameSync(`${file}.new`, file);
  };
  const set: Clock['set'] = (offsetSeconds, whose = 'all') => {
    if (whose === 'all') setOne(files.mysql, offsetSeconds);
    setOne(files.service, offsetSeconds);
  };
  const envOf = (file: string) => ({
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: '1',
    // Setting a real clock changes only the time of day. The monotonic clock continues.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    // Otherwise the timed waits of MySQL 9 end immediately, and its threads spin.
    FAKETIME_FORCE_MONOTONIC_FIX: '0',
  });
  set(0);
  return { canJump: true, mysqlEnv: envOf(files.mysql), env: envOf(files.service), set };
}
