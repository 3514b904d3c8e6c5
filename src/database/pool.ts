import type { DataSource } from 'typeorm';

/** How the connections of a pool are used at this moment. */
export interface PoolUse {
  busy: number;
  idle: number;
  /** Callers that wait for a connection. */
  waiters: number;
  /** The most connections that the pool opens. */
  max: number;
}

/** What mysql2 (3.24) knows of its pool, and tells only by its events. */
interface MysqlPool {
  config: { connectionLimit: number };
  _allConnections: { length: number };
  _freeConnections: { length: number };
  _connectionQueue: { length: number };
  on(event: 'enqueue', listener: () => void): void;
}

const poolOf = ({ driver }: DataSource): MysqlPool | undefined =>
  (driver as unknown as { pool?: MysqlPool }).pool;

/** Reads how the pool is used; null after it was closed. */
export function readPoolUse(database: DataSource): PoolUse | null {
  const pool = poolOf(database);
  if (pool === undefined) return null;
  const idle = pool._freeConnections.length;
  return {
    busy: pool._allConnections.length - idle,
    idle,
    waiters: pool._connectionQueue.length,
    max: pool.config.connectionLimit,
  };
}

/** Calls back each time that a caller has to wait for a connection. */
export const onPoolWait = (database: DataSource, callback: () => void): void =>
  poolOf(database)?.on('enqueue', callback);
