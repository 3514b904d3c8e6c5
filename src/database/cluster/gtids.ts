import type { Ask } from './host-state.ts';

/**
 * Reads and compares the GTIDs of hosts. If two hosts both take writes, their GTIDs show whether one has all transactions of the other.
 */

/** MySQL: the text of gtid_executed. MariaDB: for each domain and server, the number of its last transaction. */
export type Gtids =
  | { server: 'mysql'; executed: string }
  | { server: 'mariadb'; last: ReadonlyMap<string, bigint> };

/** All servers know the first column, and each ignores the other's comment. */
const READ_GTIDS = `
  SELECT @@GLOBAL.log_bin AS log_bin
    /*!80000 , @@GLOBAL.gtid_mode AS mode, @@GLOBAL.gtid_executed AS executed */
    /*M!100100 , @@GLOBAL.gtid_binlog_state AS binlog, @@GLOBAL.gtid_slave_pos AS applied */`;

/**
 * Reads the GTIDs of a host.
 * @returns null if the host keeps none: without GTIDs or without a binary log.
 */
export async function readGtids(ask: Ask): Promise<Gtids | null> {
  const [row] = await ask<{
    log_bin: string | number;
    mode?: string;
    executed?: string;
    binlog?: string;
    applied?: string;
  }>(READ_GTIDS);
  // Without a binary log, a host counts what it has applied, and not what it has written itself.
  if (Number(row?.log_bin) !== 1) return null;
  if (row?.executed !== undefined)
    return row.executed === '' || row.mode !== 'ON'
      ? null
      : { server: 'mysql', executed: row.executed.replaceAll(/\s/g, '') };
  const last = parseMariadb(`${row?.binlog ?? ''},${row?.applied ?? ''}`);
  return last.size === 0 ? null : { server: 'mariadb', last };
}

/** Parses GTIDs such as `0-1-270`: domain, server, number (https://mariadb.com/kb/en/gtid/). Of each server the highest number counts. */
export function parseMariadb(list: string): Map<string, bigint> {
  const last = new Map<string, bigint>();
  for (const [, origin = '', number = ''] of list.matchAll(/(?<!\d)(\d+-\d+)-(\d+)/g))
    if (BigInt(number) > (last.get(origin) ?? -1n)) last.set(origin, BigInt(number));
  return last;
}

/**
 * Whether a host has all transactions of another one now.
 * @param gtids of the other host, read before. What the other host has committed since then is not asked for.
 */
export async function containsGtids(ask: Ask, gtids: Gtids): Promise<boolean> {
  if (gtids.server === 'mysql') {
    const statement = `SELECT GTID_SUBSET('${gtids.executed}', @@GLOBAL.gtid_executed) AS contains`;
    const [row] = await ask<{ contains: string | number | null }>(statement);
    return Number(row?.contains) === 1;
  }
  const own = await readGtids(ask);
  return own?.server === 'mariadb' && isContained(gtids.last, own.last);
}

/** A number alone does not say which transaction it was: two servers that have lost each other use the same numbers. */
export const isContained = (
  gtids: ReadonlyMap<string, bigint>,
  within: ReadonlyMap<string, bigint>,
): boolean => [...gtids].every(([origin, number]) => (within.get(origin) ?? -1n) >= number);
