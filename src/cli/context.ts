import type { Config } from '../config.ts';
import type { Terminal } from './terminal.ts';

/** What every command works with. */
export interface CommandContext {
  /** Read when a command runs, so that a wrong variable does not stand in the way of --help. */
  readConfig(): Config;
  terminal: Terminal;
  /** Aborted by Ctrl-C and SIGTERM: a command that waits gives up, and whatever it started is stopped. */
  signal: AbortSignal;
}
