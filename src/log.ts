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
  return { type: error.name, code, message: error.message, stack: error.stack };
}
