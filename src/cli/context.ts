import type { Config } from '../config.ts';
import type { Terminal } from './terminal.ts';

/** What every command is given. */
export interface CommandContext {
  /** Called when a command runs, so that --help works even with an invalid variable. */
  readConfig(): Config;
  terminal: Terminal;
  /** Aborted by Ctrl-C and SIGTERM. A waiting command then ends and stops what it has started. */
  signal: AbortSignal;
}
