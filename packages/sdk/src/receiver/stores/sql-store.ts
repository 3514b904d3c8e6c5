import { type DeduplicationStore, LEASE_SECONDS } from './store.ts';

export interface SqlStoreOptions {
  /**
   * Runs one statement on the primary server, outside of a transaction, and returns what the client returns: `(sql, params) => pool.query(sql, params)`
   * with mysql2 or pg.
   */
  query: (sql: string, params: (string | number)[]) => Promise<unknown>;
  /** `mysql` (also MariaDB): placeholders are `?`. `postgres`: `$1`. */
  dialect: 'mysql' | 'postgres';
  /** The table's name. Default: `ledgerbell_notifications`. It goes into the SQL as it is. */
  table?: string;
  /** How many seconds a claim lasts. Longer than your handlers take. Default: 60. */
  leaseSeconds?: number;
}

const DEFAULT_TABLE = 'ledgerbell_notifications';

const ID_TYPES = { mysql: 'VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin', postgres: 'VARCHAR(100)' };

/** @returns the SQL that creates the table, if it does not exist. Times are seconds since 1970. */
export const sqlStoreTable = (dialect: SqlStoreOptions['dialect'], table = DEFAULT_TABLE): string =>
  `CREATE TABLE IF NOT EXISTS ${table} (
  webhook_id ${ID_TYPES[dialect]} PRIMARY KEY,
  token CHAR(36) NOT NULL,
  claimed_until BIGINT NOT NULL,
  done_at BIGINT NULL
)`;

/**
 * Creates a store in a table of MySQL, MariaDB or PostgreSQL, for any number of processes. `sqlStoreTable` has the table.
 *
 * It knows a duplicate as long as you keep the rows. If a process ends during a handler, an attempt after `leaseSeconds` calls the
 * handler again. The clocks of the processes must agree within that time.
 */
export function sqlStore(options: SqlStoreOptions): DeduplicationStore {
  const { dialect, table = DEFAULT_TABLE, leaseSeconds = LEASE_SECONDS } = options;
  const query = async (sql: string, params: (string | number)[]) =>
    rowsOf(await options.query(dialect === 'mysql' ? sql : numberPlaceholders(sql), params));
  const insert = `INSERT INTO ${table} (webhook_id, token, claimed_until) VALUES (?, '', 0) ${
    dialect === 'mysql' ? 'ON DUPLICATE KEY UPDATE webhook_id = webhook_id' : 'ON CONFLICT DO NOTHING'
  }`;
  const take = `UPDATE ${table} SET token = ?, claimed_until = ? WHERE webhook_id = ? AND done_at IS NULL AND claimed_until < ?`;
  const read = `SELECT token, done_at FROM ${table} WHERE webhook_id = ?`;
  const complete = `UPDATE ${table} SET done_at = ? WHERE webhook_id = ?`;
  const release = `UPDATE ${table} SET claimed_until = 0 WHERE webhook_id = ? AND token = ? AND done_at IS NULL`;

  return {
    async claim(id) {
      const token = crypto.randomUUID();
      const now = seconds();
      await query(insert, [id]);
      await query(take, [token, now + leaseSeconds, id, now]);
      const [row] = await query(read, [id]);
      if (row?.done_at != null) return 'done';
      if (row?.token !== token) return 'busy';
      return {
        async complete() {
          await query(complete, [seconds(), id]);
        },
        async release() {
          await query(release, [id, token]);
        },
      };
    },
  };
}

const seconds = () => Math.floor(Date.now() / 1_000);

function numberPlaceholders(sql: string): string {
  let number = 0;
  return sql.replaceAll('?', () => `$${++number}`);
}

interface Row {
  token?: unknown;
  done_at?: unknown;
}

/** pg returns `{ rows }`, mysql2 `[rows, fields]`, and others the rows. */
function rowsOf(result: unknown): Row[] {
  if (Array.isArray(result)) return Array.isArray(result[0]) ? result[0] : result;
  return (result as { rows?: Row[] } | null)?.rows ?? [];
}
