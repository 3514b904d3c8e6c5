import { type Logger, pino } from 'pino';

export type Log = Logger;

/**
 * The one place where log lines are shaped. Errors are cut down to their type, code, message and stack: mysql2
 * and TypeORM hang the SQL with its values (account data, sealed secrets) on their errors, and ioredis its arguments.
 */
export function createLog(level: string): Log {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: bareError },
    redact: {
      paths: ['*.secret', '*.api_key', '*.apikey', '*.api_secret', '*.authorization', '*.authentication'],
    },
  });
}

function bareError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const { name: type, message, stack = '' } = error;
  return { type, code, message: withoutValues(message), stack: withoutValues(stack) };
}

/** As MySQL and MariaDB say it: Duplicate entry '…' for key, Incorrect integer value: '…' for column, near '…' at line 1. */
const QUOTED_VALUE =
  /(entry|value:|near) '(?:[\s\S]*'(?= for (?:key|column) )|[\s\S]*'(?= at (?:line|row) \d)|[\s\S]*')/;

/** The message or stack of an error, without the value that MySQL quotes in it: that may be account data. */
export const withoutValues = (text: string): string => text.replace(QUOTED_VALUE, "$1 '…'");
