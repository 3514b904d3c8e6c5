import type { ClientConfig, Config } from '../config.ts';
import type { Terminal } from './terminal.ts';

/** What every command is given. */
export interface CommandContext {
  /** Called when a command runs, so that --help works even with an invalid variable. */
  readConfig(): Config;
  /** Called only by commands that use the API or check signatures. */
  readClientConfig(): ClientConfig;
  terminal: Terminal;
  /** Asks a yes-or-no question. Undefined where nobody can answer, because standard input is not a terminal. */
  ask: ((question: string) => Promise<boolean>) | undefined;
  /** Aborted by Ctrl-C and SIGTERM. A waiting command then ends and stops what it has started. */
  signal: AbortSignal;
}
