import { describe, expect, it } from 'vitest';
import { type Listed, readAll, readPage, uniqueIds } from '../support/listing.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

describe('a listing that is read while imports go on', () => {
  it('shows every movement exactly once, by Link and by polling with after', async () => {
    const { api_key: key } = await service.customer();
    const accounts = [await createAccount(service, key), await createAccount(service, key)];
    const names: string[] = [];
    let importing = true;
    const imports = Promise.all(
      accounts.map(async ({ id }, a) => {
        for (let i = 0; i < 4; i += 1) {
          const rows = Array.from({ length: 1_500 }, (_, row) =>
            movement(id, { unique_id: `${a} ${i} ${row}` }),
          );
          names.push(...rows.map(({ unique_id }) => unique_id as unknown as string));
          await importMovements(service, key, rows);
        }
      }),
    ).finally(() => {
      importing = false;
    });

    /** Follows the Link headers. A page without one is dropped and read again, until the imports are done. */
    const follow = async () => {
      const seen: Listed[] = [];
      let path = '/v1/transactions?starts=2026-01-01&per_page=400';
      for (;;) {
        const last = !importing;
        const { rows, next } = await readPage(service, key, path);
        seen.push(...rows);
        if (next !== null) path = next;
        else if (last) return seen;
        else seen.splice(seen.length - rows.length);
      }
    };
    const poll = async () => {
      const seen = new Map<string, Listed>();
      let after = '2000-01-01 00:00:00+00';
      for (;;) {
        const last = !importing;
        const path = `/v1/transactions?after=${encodeURIComponent(after)}&per_page=700`;
        for (const row of await readAll(service, key, path)) {
          seen.set(row.id, row);
          after = row.date_readed;
        }
        if (last) return [...seen.values()];
      }
    };
    const [followed, polled] = await Promise.all([follow(), poll(), imports]);
    expect(uniqueIds(followed).sort()).toEqual([...names].sort());
    expect(uniqueIds(polled).sort()).toEqual([...names].sort());
    const ids = followed.map(({ id }) => BigInt(id));
    expect(ids).toEqual([...ids].sort((a, b) => (a < b ? -1 : 1)));
  });
});
