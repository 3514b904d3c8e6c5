import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { byOperator, recordChange } from '../../customers/audit.ts';
import {
  forgetPreviousKeys,
  SEALED,
  type SecretBox,
  SecretBoxError,
  type SecretLocation,
} from '../../database/secret-box.ts';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import { countOf } from '../../platform/text.ts';
import { type CommandContext, Failure } from '../context.ts';
import { withInstallation } from '../open-service.ts';
import { currentOperator } from '../owner.ts';

/** The command that seals the stored secrets with the newest key. */

/** Rows per transaction. Their locks are held for a few milliseconds. */
const STEP = 100;

/** A column of sealed values, and the primary key of its table. */
interface SealedColumn {
  table: string;
  column: string;
  key: readonly string[];
  /** The location of the value in the row with this primary key. */
  location(row: readonly string[]): SecretLocation;
}

/** `secret` comes before `previous_secret`, so that a value that a rotation moves in between is still found. */
const COLUMNS: readonly SealedColumn[] = [
  { table: 'customers', column: 'api_secret', key: ['id'], location: ([id = '']) => SEALED.apiSecret(id) },
  { table: 'webhooks', column: 'secret', key: ['id'], location: ([id = '']) => SEALED.webhookSecret(id) },
  {
    table: 'webhooks',
    column: 'previous_secret',
    key: ['id'],
    location: ([id = '']) => SEALED.webhookSecret(id),
  },
  { table: 'webhooks', column: 'headers', key: ['id'], location: ([id = '']) => SEALED.webhookHeaders(id) },
  {
    table: 'sources',
    column: 'credentials',
    key: ['id'],
    location: ([id = '']) => SEALED.sourceCredentials(id),
  },
  {
    table: 'idempotency_keys',
    column: 'response',
    key: ['customer_id', 'idempotency_key'],
    location: ([customerId = '', key = '']) => SEALED.idempotentResponse(customerId, key),
  },
];

const COUNT_UNDER_OLD_KEYS = ({ table, column }: SealedColumn) =>
  `SELECT COUNT(*) AS count FROM ${table} WHERE ${column} NOT LIKE ?`;

/** Index: the primary key. Reads every row after the last one, because no other statement needs an index by key. */
const READ_UNDER_OLD_KEYS = ({ table, column, key }: SealedColumn) => `
  SELECT ${key.join(', ')}, ${column} AS sealed FROM ${table}
  WHERE ${key.length === 1 ? `${key[0]} > ?` : `(${key[0]} > ? OR (${key[0]} = ? AND ${key[1]} > ?))`} AND ${column} NOT LIKE ?
  ORDER BY ${key.join(', ')} LIMIT ${STEP}`;

/** Compares with the value that was read, so that a newer value stays. Index: the primary key. */
const WRITE_SEALED = ({ table, column, key }: SealedColumn) =>
  `UPDATE ${table} SET ${column} = ? WHERE ${key.map((name) => `${name} = ?`).join(' AND ')} AND ${column} = ?`;

interface Value {
  key: string[];
  sealed: string;
}

/** The location of a value that no known key opens: `webhooks.secret 17`. */
type Unreadable = string;

export interface Resealed {
  resealed: number;
  /** Values that are still sealed with another key than SECRET_KEY. */
  remaining: number;
  unreadable: Unreadable[];
}

/** Counts the values that are sealed with another key than SECRET_KEY. */
export async function countForeign(sql: Sql, { keyId }: SecretBox): Promise<number> {
  let sum = 0;
  for (const column of COLUMNS) {
    const [row] = await sql.query<{ count: string }[]>(COUNT_UNDER_OLD_KEYS(column), [`${keyId}.%`]);
    sum += Number(row?.count);
  }
  return sum;
}

/**
 * Reseals with SECRET_KEY all values that are sealed with another key. The service may be running. A repeated call continues
 * where an earlier one ended. When nothing is left, processes may start without SECRET_KEY_PREVIOUS.
 * @param onStep called with the number of values of each step.
 */
export async function resealAll(
  database: DataSource,
  secrets: SecretBox,
  onStep: (values: number) => void,
): Promise<Resealed> {
  let resealed = 0;
  const unreadable: Unreadable[] = [];
  for (const column of COLUMNS) {
    let after = column.key.map(() => '0');
    for (;;) {
      const values = await readStep(database, column, secrets, after);
      if (values.length === 0) break;
      const updates = values.flatMap((value) => resealValue(column, value, secrets, unreadable));
      resealed += await writeStep(database, column, updates);
      onStep(values.length);
      after = values.at(-1)?.key ?? after;
    }
  }
  const remaining = await countForeign(database, secrets);
  if (remaining === 0) await forgetPreviousKeys(database, secrets);
  return { resealed, remaining, unreadable };
}

async function readStep(
  sql: Sql,
  column: SealedColumn,
  { keyId }: SecretBox,
  after: readonly string[],
): Promise<Value[]> {
  const values = [...after.slice(0, -1), ...after, `${keyId}.%`];
  const rows = await sql.query<Record<string, unknown>[]>(READ_UNDER_OLD_KEYS(column), values);
  return rows.map((row) => ({
    key: column.key.map((name) => String(row[name])),
    sealed: String(row.sealed),
  }));
}

/** @returns the values of an UPDATE, or nothing when the value cannot be opened. */
function resealValue(
  { table, column, location }: SealedColumn,
  { key, sealed }: Value,
  secrets: SecretBox,
  unreadable: Unreadable[],
): string[][] {
  try {
    const here = location(key);
    return [[secrets.seal(secrets.open(sealed, here), here), ...key, sealed]];
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error;
    unreadable.push(`${table}.${column} ${key.join(' ')}`);
    return [];
  }
}

/** @returns the number of values that were still unchanged when they were written. */
function writeStep(
  database: DataSource,
  column: SealedColumn,
  updates: readonly string[][],
): Promise<number> {
  return inTransaction(database, async (sql) => {
    let written = 0;
    for (const values of updates) {
      const { affectedRows } = await sql.query<WriteResult>(WRITE_SEALED(column), values);
      written += affectedRows;
    }
    return written;
  });
}

/** The most values that are named if they cannot be opened. */
const NAMED = 10;

/** `ledgerbell secrets reseal` */
const resealSecretsCommand = (context: CommandContext) =>
  new Command('reseal')
    .description(
      'seal all stored secrets with SECRET_KEY, so that SECRET_KEY_PREVIOUS is not needed any more',
    )
    .option('--json', 'print { "resealed", "remaining", "unreadable": [column and row] }')
    .action(({ json }: { json?: boolean }) =>
      withInstallation(context, async ({ database, secrets }) => {
        const bar = progressBar();
        bar.start(await countForeign(database, secrets), 0);
        const result = await resealAll(database, secrets, (values) => bar.increment(values)).finally(() =>
          bar.stop(),
        );
        if (result.resealed > 0) await record(database, result.resealed);
        const answer = { ...result, unreadable: result.unreadable.slice(0, NAMED) };
        context.terminal.answer(json, answer, describe(result));
        const reason = reasonToFail(result);
        if (reason !== null) throw new Failure(reason);
      }),
    );

/** Records the change after the last transaction, because the values are written in many transactions. */
const record = (database: Sql, values: number) =>
  recordChange(database, byOperator(currentOperator(), null), {
    action: 'reseal',
    subject: 'secrets',
    detail: countOf(values, 'value'),
  });

const describe = ({ resealed, remaining }: Resealed): string =>
  `${countOf(resealed, 'secret was', 'secrets were')} sealed with SECRET_KEY. ${countOf(remaining, 'remains', 'remain')} with another key.`;

function reasonToFail({ remaining, unreadable }: Resealed): string | null {
  if (remaining === 0) return null;
  if (unreadable.length === 0)
    return 'A process still seals with another key: start all processes with this SECRET_KEY, and repeat the command.';
  const named = unreadable.slice(0, NAMED).join(', ');
  return `${countOf(unreadable.length, 'secret')} cannot be opened with SECRET_KEY or SECRET_KEY_PREVIOUS: ${named}${unreadable.length > NAMED ? ' …' : ''}.`;
}

/** Drawn on standard error, but only on a terminal. */
const progressBar = () =>
  new SingleBar({
    format: 'Resealing {bar} {percentage}%  {value} of {total} secrets',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 32,
    hideCursor: true,
    stream: process.stderr,
  });

/** `ledgerbell secrets` */
export const secrets = [resealSecretsCommand];
