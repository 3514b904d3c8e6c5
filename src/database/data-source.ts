import mysql from 'mysql2';
import { DataSource, type Logger, type QueryRunner } from 'typeorm';
import { onConnection } from './connection.ts';
import { Account } from './entities/account.ts';
import { Bank } from './entities/bank.ts';
import { Webhook } from './entities/webhook.ts';
import { InitialSchema1763700000000 } from './migrations/initial-schema.ts';

/**
 * What each connection is set to before its first statement, so that neither the server's defaults nor another
 * application's SET GLOBAL change what our SQL means: times are UTC, wrong values are errors, reads see commits. Locks are held
 * for milliseconds: who waits for a second, waits for a process that was stopped, and had better try again.
 */
const SESSION_STATEMENTS = [
  "SET innodb_lock_wait_timeout = 1, time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
];

/** mysql2 with a pool that prepares its connections; TypeORM has no hook of its own for a new connection. */
const driver = {
  ...mysql,
  createPool(options: mysql.PoolOptions) {
    const pool = mysql.createPool(options);
    pool.on('connection', (connection) => {
      for (const statement of SESSION_STATEMENTS) {
        // A connection that fails here is broken, and the statement that follows reports it.
        connection.query(statement, () => {});
      }
    });
    return pool;
  },
};

/** A server that hangs must not make everybody hang with it. Milliseconds; our own statements take far less. */
const STATEMENT_TIMEOUT = 30_000;

/** TypeORM's own loggers print slow statements with their values, whatever `logging` says. Errors reach us as exceptions. */
const SILENT: Logger = {
  logQuery() {},
  logQueryError() {},
  logQuerySlow() {},
  logSchemaBuild() {},
  logMigration() {},
  log() {},
};

/** TypeORM's own, but for statements written in SQL, which go to the driver directly: see onConnection. */
class DirectDataSource extends DataSource {
  override query<T>(statement: string, values?: unknown[], runner?: QueryRunner): Promise<T> {
    // In a transaction of TypeORM's own, its runner has the connection.
    if (runner !== undefined) return super.query(statement, values, runner);
    return onConnection(this, (sql) => sql.query(statement, values));
  }
}

/**
 * The one way to MySQL or MariaDB. Nothing connects before `initialize()`.
 * @param statementTimeout milliseconds after which a statement fails as if the server were away.
 * @param url `mysql://user:password@host:3306/database`, or with `?socketPath=/run/mysqld.sock` for a Unix socket.
 */
export function createDataSource(
  url: string,
  { poolSize = 20, statementTimeout = STATEMENT_TIMEOUT } = {},
): DataSource {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const socketPath = searchParams.get('socketPath');
  return new DirectDataSource({
    type: 'mysql',
    driver,
    ...(socketPath === null ? { host: hostname, port: Number(port || 3306) } : { socketPath }),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    charset: 'utf8mb4_unicode_ci',
    timezone: 'Z',
    dateStrings: ['DATE'],
    supportBigNumbers: true,
    bigNumberStrings: true,
    poolSize,
    connectTimeout: 5_000,
    enableQueryTimeout: true,
    maxQueryExecutionTime: statementTimeout,
    // Without FOUND_ROWS, affectedRows counts what was really inserted or changed.
    flags: ['-FOUND_ROWS'],
    entities: [Bank, Account, Webhook],
    migrations: [InitialSchema1763700000000],
    synchronize: false,
    logger: SILENT,
  });
}
