import type { DataSource } from 'typeorm';
import { inTransaction } from '../../src/database/transaction.ts';
import { type Replay, type ReplayRequest, storeReplay } from '../../src/delivery/replays.ts';

/** Stores a replay in a transaction of its own. Nobody is woken. */
export const createReplay = (database: DataSource, request: ReplayRequest): Promise<Replay> =>
  inTransaction(database, (sql) => storeReplay(sql, request));
