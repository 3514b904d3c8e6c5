import { mysqlProblem } from '../database/errors.ts';
import { inWordsOf } from '../intake/advice.ts';
import { type ClientConfig, type Config, calledAs } from '../platform/config.ts';
import { withoutValues } from '../platform/text.ts';

/** What a command gets: the terminal, the signal and the configuration; and how it fails. */

/** An error for the user. Its message is shown unchanged, and says what went wrong or what to do next. */
export class Failure extends Error {
  override name = 'Failure';
}

/** The answer has been printed and is negative. The exit code is 1, and no other line is printed. */
export class NegativeAnswer extends Error {
  override name = 'NegativeAnswer';
}

/** The reason of `signal`: Ctrl-C or SIGTERM. A command that has nothing to stop throws it, and its exit code is that of the signal. */
export class Interruption extends Error {
  override name = 'Interruption';
  readonly exitCode: number;

  constructor(signal: 'SIGINT' | 'SIGTERM') {
    super(`ended by ${signal}`);
    this.exitCode = { SIGINT: 130, SIGTERM: 143 }[signal];
  }
}

const ER_ACCESS_DENIED = 1045;
const ER_NO_SUCH_TABLE = 1146;

/** Describes any error in one line for a person: the first line of its message, without a stack trace. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  const errno = 'errno' in error ? Number(error.errno) : 0;
  if (errno === ER_ACCESS_DENIED) return 'MySQL refuses the user or the password in DATABASE_URL.';
  if (errno === ER_NO_SUCH_TABLE) return SCHEMA_MISSING;
  // Other connection errors name the host and the problem themselves.
  const problem = mysqlProblem(error);
  if (problem === 'cannot be reached' && !code.startsWith('HANDSHAKE_') && code !== 'NO_PRIMARY')
    return `MySQL cannot be reached (${code}): is it running, and is DATABASE_URL right?`;
  if (problem !== null && problem !== 'cannot be reached') return `MySQL ${problem} (${code}).`;
  const [line = ''] = withoutValues(error.message).trim().split('\n');
  return line === '' ? code : line;
}

export const SCHEMA_MISSING = 'The database schema is not up to date. Run first: ledgerbell migrate';

/** Removes control characters, because text from the network must not move the terminal's cursor or change its colours. */
export const oneLine = (text: string): string => text.replace(/\p{Cc}+/gu, ' ').trim();

/**
 * The output of a command. Only the answer goes to standard output, so that it can be piped. Texts for people name options instead of the
 * API's parameters.
 */
export interface Terminal {
  /** With --json, prints the document on one line. Otherwise prints the text. */
  answer(json: boolean | undefined, document: unknown, text: string): void;
  /**
   * Prints a line as it is, and waits until it is written.
   * @returns false: it was not, because the reader of the output has closed it.
   */
  line(text: string): Promise<boolean>;
  /** The same for a part of a file. */
  bytes(part: Uint8Array): Promise<boolean>;
  /** Prints progress or advice to standard error. */
  note(line: string): void;
}

type Sink = Pick<NodeJS.WritableStream, 'write'>;

/** A command in a text, such as `ledgerbell imports list`. */
const COMMAND = /\bledgerbell (?=[a-z])/g;

/** Without control characters, apart from line breaks and tabs, because names that others give may hold sequences for terminals. */
const printable = (text: string): string => text.replace(/(?![\n\t])\p{Cc}/gu, '');

export function createTerminal(output: Sink, errors: Sink, called = calledAs()): Terminal {
  const write = (part: string | Uint8Array): Promise<boolean> =>
    new Promise((resolve) => {
      output.write(part, (error) => resolve(error == null));
    });
  const inWords = (text: string) => inWordsOf('command line', text).replace(COMMAND, `${called} `);
  return {
    answer(json, document, text) {
      output.write(`${json === true ? JSON.stringify(document) : inWords(printable(text))}\n`);
    },
    line: (text) => write(`${text}\n`),
    bytes: write,
    note(line) {
      errors.write(`${inWords(printable(line))}\n`);
    },
  };
}

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
