import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { createLogCache, type LogCache } from '../../src/delivery/engine/log-cache.ts';
import type { LogRead } from '../../src/delivery/engine/log-ranges.ts';
import type { LoggedMovement } from '../../src/delivery/run/types.ts';
import type { Filter } from '../../src/webhook-record/filter.ts';

const ALL: Filter = { event: 'NEW_TRANSACTION', accountId: null, withdrawals: false };

/** A log in memory. It returns what a query of MySQL finds, at most `limit` movements at a time. */
function createLog(limit = 300) {
  const ids: number[] = [];
  const movements = new Map<number, LoggedMovement>();
  const log = { newest: 0, filtersVersion: 1, queries: 0 };
  const query = async (after: number): Promise<LogRead> => {
    log.queries += 1;
    const found = ids.filter((id) => id > after);
    const given = found.slice(0, limit);
    const isFull = given.length === limit;
    return {
      movements: given.map((id) => movements.get(id) as LoggedMovement),
      through: Math.max(after, isFull ? (given.at(-1) ?? 0) : log.newest),
      complete: !isFull,
      filtersVersion: log.filtersVersion,
    };
  };
  return {
    log,
    query,
    /** Adds matching movements, followed by some that do not match. */
    add(count: number, others = 0) {
      for (let i = 0; i < count; i += 1) {
        log.newest += 1;
        ids.push(log.newest);
        movements.set(log.newest, { transaction_id: String(log.newest) } as LoggedMovement);
      }
      log.newest += others;
    },
    idsBetween: (after: number, through: number) => ids.filter((id) => id > after && id <= through),
  };
}

const idsOf = ({ movements }: LogRead) => movements.map(({ transaction_id }) => Number(transaction_id));

let cache: LogCache;
let source: ReturnType<typeof createLog>;
beforeEach(() => {
  cache = createLogCache();
  source = createLog();
});

const read = (
  after: number,
  { filter = ALL, customerId = '1', accountsDeleted = 0, through = null as number | null, limit = 300 } = {},
) => cache.read({ customerId, accountsDeleted, filter, after, through, limit }, () => source.query(after));

describe('the cache of the log', () => {
  it('asks MySQL again when an account of the customer has been deleted', async () => {
    source.add(10, 5);
    await read(0);
    await read(0, { accountsDeleted: 1 });
    expect(source.log.queries).toBe(2);
    await read(0, { accountsDeleted: 1 });
    expect(source.log.queries).toBe(2);
  });

  it('asks MySQL once for webhooks at the same place, and gives them the same movements', async () => {
    source.add(10, 5);
    const first = await read(0);
    const second = await read(0);
    expect(second).toMatchObject({ through: 15, filtersVersion: 1, complete: false });
    expect(second.movements.every((it, at) => it === first.movements[at])).toBe(true);
    expect(idsOf(await read(4))).toEqual([5, 6, 7, 8, 9, 10]);
    expect(idsOf(await read(12))).toEqual([]);
    expect(source.log.queries).toBe(1);
  });

  it('asks MySQL again at the end of what it holds, and keeps the new movements', async () => {
    source.add(10);
    await read(0);
    source.add(3);
    expect(idsOf(await read(10))).toEqual([11, 12, 13]);
    expect(idsOf(await read(8))).toEqual([9, 10, 11, 12, 13]);
    expect(source.log.queries).toBe(2);
  });

  it('does not say that nothing more is there, because only MySQL knows', async () => {
    source.add(10);
    expect((await read(0)).complete).toBe(true);
    source.add(1);
    expect(await read(0)).toMatchObject({ complete: false, through: 10 });
  });

  it('keeps customers, accounts and events apart', async () => {
    source.add(2);
    await read(0);
    for (const other of [
      { customerId: '2' },
      { filter: { ...ALL, accountId: '1' } },
      { filter: { ...ALL, accountId: '11' } },
      { filter: { ...ALL, event: 'NEW_DEBIT' as const } },
    ]) {
      const before = source.log.queries;
      await read(0, other);
      expect(source.log.queries).toBe(before + 1);
    }
  });

  it('does not serve a webhook that lags behind, nor a read up to a boundary', async () => {
    source.add(2_000);
    await read(1_990);
    expect(idsOf(await read(0))).toHaveLength(300);
    expect(source.log.queries).toBe(2);
    expect(idsOf(await read(1_990))).toHaveLength(10);
    await read(1_990, { through: 1_995 });
    expect(source.log.queries).toBe(3);
  });

  it('says with which version of the filters its newest movements were read', async () => {
    source.add(5);
    await read(0);
    source.log.filtersVersion = 2;
    source.add(5);
    expect(await read(5)).toMatchObject({ filtersVersion: 2 });
    expect(await read(0)).toMatchObject({ filtersVersion: 2 });
  });

  it('skips no movement, however webhooks lag behind and the log grows, while it drops what does not fit', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), count: fc.nat(700), others: fc.nat(20) }),
      fc.record({ kind: fc.constant('read' as const), webhook: fc.nat(4), filter: fc.nat(15) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), async (steps) => {
        cache = createLogCache();
        source = createLog();
        const positions = new Map<string, number>();
        for (const it of steps) {
          if (it.kind === 'add') {
            source.add(it.count, it.others);
            continue;
          }
          const name = `${it.webhook} ${it.filter}`;
          const after = positions.get(name) ?? 0;
          const filter = { ...ALL, accountId: String(it.filter) };
          const given = await read(after, { filter });
          expect(idsOf(given)).toEqual(source.idsBetween(after, given.through));
          if (source.log.newest > after) expect(given.through).toBeGreaterThan(after);
          positions.set(name, given.through);
        }
      }),
      { numRuns: 60 },
    );
  });
});
