/** What is wrong with MySQL, for a sentence that begins with its name. It is shown to anybody, so it contains no detail. */
const WORDS = {
  unreachable: 'cannot be reached',
  busy: 'takes no more connections: all of them are in use (max_connections)',
  'read-only': 'refuses writes: it is read-only',
  'left-cluster': 'refuses writes: it has left its cluster or group',
  lock: 'waits for a lock of another session (ALTER TABLE, LOCK TABLES, a backup or a long transaction)',
  full: 'refuses writes: its disk is full',
  packet: 'refuses statements of this size: max_allowed_packet must be 16M or more',
} as const;

/**
 * A failed statement, with the error code of MySQL or of the operating system. The driver's own error contains the statement with
 * its values, and its stack does not lead to the caller.
 */
export class StatementError extends Error {
  override name = 'StatementError';
  readonly code: string;
  readonly errno: number | undefined;
  readonly syscall: string | undefined;

  constructor({ message, code, errno, syscall }: NodeJS.ErrnoException) {
    super(message);
    this.code = code ?? 'UNKNOWN';
    this.errno = errno;
    this.syscall = syscall;
  }
}

/**
 * The consequence of a failed statement for the work that it belongs to:
 *
 * - `unreachable`, `busy`, `read-only`, `left-cluster`: the server cannot be reached, has no connection left, or may no longer write,
 *   for example after a failover. The same statement may succeed on a new connection, perhaps to another server.
 * - `lock`: another transaction held the locks. The same transaction may succeed at once.
 * - `full`, `packet`: the server has no room to store anything, or refuses statements of this size. The same statement may succeed
 *   when somebody has made room or has changed the setting.
 * - `defect`: the statement itself is wrong. It fails again.
 */
type FailureKind = keyof typeof WORDS | 'defect';

/** Errors of MySQL and MariaDB by their number (MySQL "Server Error Message Reference", MariaDB "Error Codes"). */
const KINDS = new Map<number, FailureKind>([
  [1053, 'unreachable'], // ER_SERVER_SHUTDOWN
  [1927, 'unreachable'], // ER_CONNECTION_KILLED (MariaDB)
  [1969, 'unreachable'], // ER_STATEMENT_TIMEOUT (MariaDB)
  [3024, 'unreachable'], // ER_QUERY_TIMEOUT (MySQL)
  [3169, 'unreachable'], // ER_SESSION_WAS_KILLED (MySQL)
  [1040, 'busy'], // ER_CON_COUNT_ERROR
  [1203, 'busy'], // ER_TOO_MANY_USER_CONNECTIONS
  [1226, 'busy'], // ER_USER_LIMIT_REACHED
  [1290, 'read-only'], // ER_OPTION_PREVENTS_STATEMENT: read_only, super_read_only
  [1792, 'read-only'], // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: transaction_read_only
  [1836, 'read-only'], // ER_READ_ONLY_MODE
  [1047, 'left-cluster'], // ER_UNKNOWN_COM_ERROR: a node of Galera that has left its cluster
  [1180, 'left-cluster'], // ER_ERROR_DURING_COMMIT: a node of Galera that leaves its cluster during a commit
  [3100, 'left-cluster'], // ER_RUN_HOOK_ERROR: Group Replication
  [3101, 'left-cluster'], // ER_TRANSACTION_ROLLBACK_DURING_COMMIT: Group Replication, while the group changes
  [3796, 'left-cluster'], // ER_GRP_TRX_CONSISTENCY_NOT_ALLOWED: a member that is not online
  [3797, 'left-cluster'], // ER_GRP_TRX_CONSISTENCY_BEFORE: a new primary that does not catch up
  [3798, 'left-cluster'], // ER_GRP_TRX_CONSISTENCY_AFTER_ON_TRX_BEGIN: the same
  [3799, 'left-cluster'], // ER_GRP_TRX_CONSISTENCY_BEGIN_NOT_ALLOWED: a member that leaves
  [1020, 'lock'], // ER_CHECKREAD: a row changed under a snapshot
  [1205, 'lock'], // ER_LOCK_WAIT_TIMEOUT: of rows, or of a table that is being altered
  [1213, 'lock'], // ER_LOCK_DEADLOCK
  [3, 'full'], // EE_WRITE
  [28, 'full'], // ENOSPC
  [1021, 'full'], // ER_DISK_FULL
  [1026, 'full'], // ER_ERROR_ON_WRITE
  [1030, 'full'], // ER_GET_ERRNO: of the storage engine
  [1114, 'full'], // ER_RECORD_FILE_FULL
  [1197, 'full'], // ER_TRANS_CACHE_FULL
  [1598, 'full'], // ER_BINLOG_LOGGING_IMPOSSIBLE
  [1153, 'packet'], // ER_NET_PACKET_TOO_LARGE
]);

/** Codes of mysql2 for a server that is unreachable or a connection that was lost. */
const DRIVER_CODES = new Set([
  'POOL_TIMEOUT',
  'PROTOCOL_CONNECTION_LOST',
  // None of several hosts may be written, or another host has become the one to write.
  'NO_PRIMARY',
  'PRIMARY_CHANGED',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  // The server does not support TLS, or its handshake failed, for example because its certificate does not fit ssl-mode.
  'HANDSHAKE_NO_SSL_SUPPORT',
  'HANDSHAKE_SSL_ERROR',
]);

/** Codes of the operating system for the same. Other connections have them too, such as that of a client that breaks off its upload. */
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  // The connection queue of a Unix socket is full, because the server accepts no connections. It may be stopped, for example.
  'EAGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Whether an error comes from the connection to MySQL: from a statement, or from mysql2, which marks errors that end a connection. */
const isOfDriver = (error: Error): boolean =>
  error instanceof StatementError || (error as { fatal?: unknown }).fatal === true;

/** @returns null for an error that does not come from the database. */
function failureKind(error: unknown): FailureKind | null {
  if (!(error instanceof Error)) return null;
  const { code, errno, syscall } = error as NodeJS.ErrnoException;
  if (code !== undefined && DRIVER_CODES.has(code)) return 'unreachable';
  if (code !== undefined && SOCKET_CODES.has(code)) return isOfDriver(error) ? 'unreachable' : null;
  // The Unix socket of a server that is down does not exist. Other missing files are no connection errors.
  if (code === 'ENOENT' && syscall === 'connect') return 'unreachable';
  // mysql2 gives these errors no code.
  if (/closed state|Connection lost|Pool is closed/i.test(error.message)) return 'unreachable';
  return errno === undefined || errno < 0 ? null : (KINDS.get(errno) ?? 'defect');
}

/** What is wrong with MySQL, such as "refuses writes: its disk is full". null: the error says nothing about the server. */
export function mysqlProblem(error: unknown): string | null {
  const kind = failureKind(error);
  return kind === null || kind === 'defect' ? null : WORDS[kind];
}

const isOf =
  (...kinds: readonly (FailureKind | null)[]) =>
  (error: unknown): boolean =>
    kinds.includes(failureKind(error));

/** Whether MySQL cannot be reached or may not write. The same statement may succeed later. */
export const isConnectionError = isOf('unreachable', 'busy', 'read-only', 'left-cluster');

/** Whether a statement failed because of the locks of another transaction. The same work can succeed when it is repeated. */
export const isRetryableLockError = isOf('lock');

/** Whether the same work can succeed later without a change. */
export const isTransient = (error: unknown): boolean => mysqlProblem(error) !== null;

/** Whether the connection leads to a server that may not write, such as a former primary. */
export const mayNotWrite = isOf('read-only', 'left-cluster');

/** Whether the server has no room to store anything. */
export const hasNoRoom = isOf('full');

/** Whether the server refuses statements of this size. */
export const refusesSize = isOf('packet');

const ER_DUP_ENTRY = 1062;

/** Whether a statement has failed with this number of MySQL. */
export const isErrno = (error: unknown, errno: number): boolean =>
  error instanceof Error && 'errno' in error && error.errno === errno;

/** Whether a row was refused because another one has the same key. */
export const isDuplicate = (error: unknown): boolean => isErrno(error, ER_DUP_ENTRY);
