import { type DestinationStream, type Logger, pino } from 'pino';
import { countRepeatedLines } from './log/repeated-lines.ts';
import { withoutValues } from './text.ts';

/** Creates the log of a process. */

export type Log = Logger;

/**
 * Creates the logger. Only the type, code, message and stack of an error are logged: mysql2 and TypeORM attach the SQL with its
 * values (account data, sealed secrets) to their errors, and ioredis attaches the arguments of the command. Repeated warnings and
 * errors are counted.
 * @param name the name of this process, for a log that several processes share.
 */
export function createLog(
  level: string,
  name?: string,
  destination: DestinationStream = pino.destination(1),
): Log {
  const options = {
    level,
    base: name === undefined ? null : { process: name },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: bareError },
    hooks: { logMethod: countRepeatedLines() },
    redact: {
      paths: ['*.secret', '*.api_key', '*.apikey', '*.api_secret', '*.authorization', '*.authentication'],
    },
  };
  return pino(options, destination);
}

function bareError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const { name: type, message, stack = '' } = error;
  return { type, code, message: withoutValues(message), stack: withoutValues(stack) };
}
