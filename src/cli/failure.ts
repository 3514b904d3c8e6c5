import { mysqlProblem } from '../database/errors.ts';
import { withoutValues } from '../platform/text.ts';

/** An error for the user. Its message is shown unchanged, and says what went wrong or what to do next. */
export class Failure extends Error {
  override name = 'Failure';
}

/** The answer has been printed and is negative. The exit code is 1, and no other line is printed. */
export class NegativeAnswer extends Error {
  override name = 'NegativeAnswer';
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
