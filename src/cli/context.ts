import type { ClientConfig, Config } from '../platform/config.ts';
import type { Terminal } from './terminal.ts';

/** Passed to every command. */
export interface CommandContext {
  /** Called only when a command runs, so that --help works even with an invalid variable. */
  readConfig(): Config;
  /** Called only by commands that use the API or check signatures. */
  readClientConfig(): ClientConfig;
  terminal: Terminal;
  /** Asks a yes-or-no question. undefined if standard input is not a terminal, because nobody can answer. */
  ask: ((question: string) => Promise<boolean>) | undefined;
  /** Aborted by Ctrl-C and SIGTERM. A waiting command then ends, and stops everything that it has started. */
  signal: AbortSignal;
}
