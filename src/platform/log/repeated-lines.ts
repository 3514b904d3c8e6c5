import type { LogFn, Logger, LoggerOptions } from 'pino';
import { withoutValues } from '../text.ts';

/** Counts lines of the log that repeat, instead of writing each. */

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

const WARN = 40;
const ERROR = 50;

/** As many lines of a kind are written in a period. The others are counted. */
const WRITTEN = 5;

const PERIOD_MS = 60_000;

/** Kinds of lines that are counted at a time. Lines of any further kind are all written. */
const MOST_KINDS = 500;

/** Characters of a message by which its kind is known. */
const MOST_TEXT = 200;

/**
 * Creates a hook for pino that counts repeated warnings and errors. Lines with the same message and the same error are of one kind: the
 * first five of a minute are written, and the others become one line at its end, with `repeated`. Lines of other levels are all
 * written.
 */
export function countRepeatedLines(): LogMethod {
  let kinds = new Map<string, { lines: number; summarize: (repeated: number) => void }>();

  function endPeriod(): void {
    const ended = kinds;
    kinds = new Map();
    for (const { lines, summarize } of ended.values()) if (lines > WRITTEN) summarize(lines - WRITTEN);
  }

  return function (this: Logger, args: Parameters<LogFn>, method: LogFn, level: number): void {
    if ((level === WARN || level === ERROR) && isCounted(this, args, method)) return;
    method.apply(this, args);
  };

  /** Counts a line. Returns whether that is all that happens to it. */
  function isCounted(logger: Logger, [first, second]: readonly unknown[], method: LogFn): boolean {
    const message = beginningOf(typeof first === 'string' ? first : String(second));
    const error = errorOf(first);
    const kind = `${message}\n${error}`;
    const known = kinds.get(kind);
    if (known !== undefined) {
      known.lines += 1;
      return known.lines > WRITTEN;
    }
    // Does not keep a process running.
    if (kinds.size === 0) setTimeout(endPeriod, PERIOD_MS).unref();
    if (kinds.size < MOST_KINDS) {
      const summarize = (repeated: number) => method.call(logger, { repeated, error }, message);
      kinds.set(kind, { lines: 1, summarize });
    }
    return false;
  }
}

/** The code of the error that a line is about, or else its message. */
function errorOf(fields: unknown): string | undefined {
  if (typeof fields !== 'object' || fields === null || !('err' in fields)) return undefined;
  const { err } = fields;
  if (!(err instanceof Error)) return undefined;
  return 'code' in err && typeof err.code === 'string' ? err.code : beginningOf(withoutValues(err.message));
}

/** Copies what it returns, because V8 keeps the whole text of a slice. */
const beginningOf = (text: string): string =>
  text.length <= MOST_TEXT ? text : Buffer.from(text.slice(0, MOST_TEXT)).toString();
