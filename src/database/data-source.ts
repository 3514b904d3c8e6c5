import mysql from 'mysql2';
import { DataSource, type Logger, type QueryRunner } from 'typeorm';
import { type Host, parseMysqlUrl } from '../platform/server-urls.ts';
import { noteOpened, onConnection } from './connection.ts';
import { Account, Bank } from './entities.ts';
import { leadToPrimary } from './lead-to-primary.ts';
import { InitialSchema1763700000000 } from './migrations/initial-schema.ts';

/** Opens the pool of connections to MySQL, with time limits for statements. */

const SECOND = 1_000;

/**
 * Run on each new connection, so that neither the server's defaults nor another application's SET GLOBAL change the meaning of our
 * SQL: times are UTC, wrong values are errors, and reads see committed rows. We hold locks only for milliseconds. A statement that
 * waits for a second waits for a stopped process or an ALTER TABLE, so it fails and is retried. If this process stops answering, the server
 * ends its sessions, and so their transactions: MariaDB after 15 s in a transaction, both after 30 s. MySQL ignores the comment of MariaDB.
 */
const SESSION = `
  SET innodb_lock_wait_timeout = 1, time_zone = '+00:00', wait_timeout = 30 /*M!100300 , idle_write_transaction_timeout = 15 */,
    sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'`;
const ISOLATION = 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED';

/**
 * The server gives up a little before we do, so that no statement runs on after its caller has gone. MariaDB limits all statements,
 * MySQL only those that read. Each ignores the other's comment.
 */
const timeLimits = (milliseconds: number) => `
  SET lock_wait_timeout = 2 /*M!100100 , max_statement_time = ${(0.9 * milliseconds) / SECOND} */
    /*!50708 , max_execution_time = ${Math.round(0.9 * milliseconds)} */`;

/**
 * Creates a mysql2 driver whose pool sets up its connections. TypeORM has no hook for new connections.
 * @param statementTimeout milliseconds; null: none, for migrations.
 * @param hosts if there are several, the pool's connections lead to the host that may be written.
 */
export const createDriver = (statementTimeout: number | null, hosts: readonly Host[]) => ({
  ...mysql,
  hosts,
  createPool(options: mysql.PoolOptions) {
    const pool = mysql.createPool(options);
    if (hosts.length > 1) leadToPrimary(pool, hosts, options);
    const statements = [
      SESSION,
      ISOLATION,
      ...(statementTimeout === null ? [] : [timeLimits(statementTimeout)]),
    ];
    pool.on('connection', (connection) => {
      noteOpened(connection);
      for (const statement of statements) {
        // If this fails, the connection is broken, and the next statement reports it.
        connection.query(statement, () => {});
      }
    });
    return pool;
  },
});

/** Adds to the error of a failed TLS handshake what to do. Other errors stay unchanged. */
function explainTlsError(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  if (error.code === 'HANDSHAKE_NO_SSL_SUPPORT')
    error.message = 'MySQL offers no TLS, and the ssl-mode in DATABASE_URL requires it.';
  if (error.code === 'HANDSHAKE_SSL_ERROR')
    error.message = `The TLS connection to MySQL failed (${error.message}): check ssl-ca and the host name in DATABASE_URL.`;
  return error;
}

/** Milliseconds. Keeps callers from waiting forever for a hanging server. Our statements normally take far less. */
const STATEMENT_TIMEOUT = 30 * SECOND;

/** TypeORM's own loggers print slow statements with their values, whatever `logging` is set to. Errors are thrown anyway. */
const SILENT: Logger = {
  logQuery() {},
  logQueryError() {},
  logQuerySlow() {},
  logSchemaBuild() {},
  logMigration() {},
  log() {},
};

/** TypeORM's DataSource, but SQL statements go directly to the driver; see onConnection. */
class DirectDataSource extends DataSource {
  override initialize(): Promise<this> {
    return super.initialize().catch((error: unknown) => {
      throw explainTlsError(error);
    });
  }

  override query<T>(statement: string, values?: unknown[], runner?: QueryRunner): Promise<T> {
    // In a transaction of TypeORM, its runner holds the connection.
    if (runner !== undefined) return super.query(statement, values, runner);
    return onConnection(this, (sql) => sql.query(statement, values));
  }
}

/**
 * Creates the DataSource for MySQL or MariaDB. Nothing connects before `initialize()`.
 * @param statementTimeout milliseconds after which a statement fails as if the server were unreachable.
 * @param url DATABASE_URL. Its parameters decide whether the connection is encrypted; see parseMysqlUrl.
 */
export function createDataSource(
  url: string,
  { poolSize = 20, statementTimeout = STATEMENT_TIMEOUT } = {},
): DataSource {
  const { hosts, username, password, database, socketPath, tls } = parseMysqlUrl(url);
  return new DirectDataSource({
    type: 'mysql',
    driver: createDriver(statementTimeout, hosts),
    ...(socketPath === null ? hosts[0] : { socketPath }),
    ...(tls === null ? {} : { ssl: tls }),
    username,
    password,
    database,
    charset: 'utf8mb4_unicode_ci',
    timezone: 'Z',
    dateStrings: ['DATE'],
    supportBigNumbers: true,
    bigNumberStrings: true,
    poolSize,
    // Before the server does, see `wait_timeout`. The pool closes idle connections only with a maxIdle below its size.
    extra: { idleTimeout: 20 * SECOND, maxIdle: Math.max(1, poolSize - 1), gracefulEnd: true },
    connectTimeout: 5_000,
    enableQueryTimeout: true,
    maxQueryExecutionTime: statementTimeout,
    // Without FOUND_ROWS, affectedRows counts only rows that were inserted or changed, not all rows that matched.
    flags: ['-FOUND_ROWS'],
    entities: [Bank, Account],
    migrations: [InitialSchema1763700000000],
    synchronize: false,
    logger: SILENT,
  });
}
