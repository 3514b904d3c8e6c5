import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createEntryIdentifier,
  type Identity,
  type StatementEntry,
} from '../../src/imports/identify-entries.ts';
import { inTransaction } from '../../src/platform/database/transaction.ts';
import { useDatabase } from '../support/database.ts';
import { watchReads } from '../support/reads.ts';
import { createOwner, entriesOf, newestOf, storeEntries } from './stored-movements.ts';

const { database } = useDatabase();
beforeAll(() => createOwner(database));
beforeEach(() => database.query('DELETE FROM transactions'));

const DAY = '2026-03-02';
const day = (...texts: string[]) => entriesOf(DAY, texts);

/** The id of a new entry; null: it is stored already. */
const idIn = (identity: Identity) => ('uniqueId' in identity ? identity.uniqueId : null);

/** An import whose chunks are identified and stored one by one. */
function createImport(importId: string) {
  const identify = createEntryIdentifier(importId);
  const identifyChunk = async (entries: readonly StatementEntry[]) =>
    inTransaction(database, async (sql) =>
      (await identify(sql, await newestOf(database), entries)).map(idIn),
    );
  return {
    identifyChunk,
    async storeChunk(entries: readonly StatementEntry[]): Promise<(string | null)[]> {
      const ids = await identifyChunk(entries);
      await storeEntries(database, importId, entries, ids);
      return ids;
    },
  };
}

const idOf = (amount: string, number: number, reference = '') =>
  `statement:${DAY}:Credit:${amount}:${number}:${reference}`;

describe('the entries of a day in several chunks', () => {
  it('are numbered on', async () => {
    const { storeChunk } = createImport('1');
    const entries = day('10.00', '10.00 A', '10.00', '20.00');
    expect(await storeChunk(entries.slice(0, 2))).toEqual([idOf('10.00', 1), idOf('10.00', 2, 'A')]);
    expect(await storeChunk(entries.slice(2))).toEqual([idOf('10.00', 3), idOf('20.00', 1)]);
  });

  it('get the same ids when a chunk is repeated that was not stored', async () => {
    const { identifyChunk, storeChunk } = createImport('1');
    const entries = day('10.00', '10.00', '10.00');
    await storeChunk(entries.slice(0, 1));
    const ids = await identifyChunk(entries.slice(1));
    expect(await storeChunk(entries.slice(1))).toEqual(ids);
  });

  it('get the ids that follow when the import goes on in another process', async () => {
    const entries = day('10.00', '10.00', '10.00');
    await createImport('1').storeChunk(entries.slice(0, 2));
    expect(await createImport('1').storeChunk(entries.slice(2))).toEqual([idOf('10.00', 3)]);
  });

  it.each<[string, string[], string[]]>([
    ['the day had only movements of this import', [], ['10.00 A', '20.00 B']],
    ['the day had movements of other imports', ['10.00 A'], ['10.00 A', '20.00 B']],
    ['the day had others of the same amount', ['30.00 X', '30.00 Y'], ['30.00 X', '10.00 A']],
  ])('are known when another import stores them between the chunks, and %s', async (_, before, first) => {
    await createImport('1').storeChunk(day(...before));
    const { storeChunk } = createImport('2');
    const entries = day(...first, '30.00 C', '40.00 D');
    await storeChunk(entries.slice(0, first.length));
    await createImport('3').storeChunk(day('30.00 C'));
    expect(await storeChunk(entries.slice(first.length))).toEqual([null, idOf('40.00', 1, 'D')]);
  });

  it('do not count those that this import has stored when another one stores an equal payment', async () => {
    const { storeChunk } = createImport('1');
    const entries = day('10.00', '10.00', '10.00', '10.00');
    await storeChunk(entries.slice(0, 2));
    // The other import takes both for its own first two, and adds a third one.
    expect(await createImport('2').storeChunk(day('10.00', '10.00', '10.00'))).toEqual([
      null,
      null,
      idOf('10.00', 3),
    ]);
    // The third one of the file is the third one stored.
    expect(await storeChunk(entries.slice(2))).toEqual([null, idOf('10.00', 4)]);
  });
});

describe('a day with very many movements', () => {
  const CHUNK = 100;
  const CHUNKS = 20;
  const MANY = CHUNK * CHUNKS;
  const texts = (prefix: string) => Array.from({ length: MANY }, (_, i) => `${i + 1}.00 ${prefix}${i}`);

  /** Identifies and stores all chunks. @returns how many entries of indexes and tables MySQL read to identify them. */
  async function readAll(importId: string, entries: readonly StatementEntry[]) {
    const identify = createEntryIdentifier(importId);
    let reads = 0;
    const ids: (string | null)[] = [];
    for (let from = 0; from < entries.length; from += CHUNK) {
      const chunk = entries.slice(from, from + CHUNK);
      const newest = await newestOf(database);
      const { result, read } = await watchReads(database, (sql) => identify(sql, newest, chunk));
      reads += read;
      const found = result.map(idIn);
      ids.push(...found);
      await storeEntries(database, importId, chunk, found);
    }
    return { reads, ids };
  }

  it('is read once, and what each chunk adds is read once more', async () => {
    const entries = entriesOf(DAY, texts('A'));
    const first = await readAll('1', entries);
    expect(first.ids.every((id) => id !== null)).toBe(true);
    // The index and the row of each movement, and one step to the end of the range in each chunk.
    expect(first.reads).toBeLessThan(2.5 * MANY);

    const again = await readAll('2', entries);
    expect(again.ids.every((id) => id === null)).toBe(true);
    expect(again.reads).toBeLessThan(2.5 * MANY);
  });
});
