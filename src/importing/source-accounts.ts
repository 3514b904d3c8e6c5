import type { Sql } from '../database/transaction.ts';
import type { Chunk } from './store-chunk.ts';

/** Leaves out an account or a source that has just been deleted: its foreign key would end the import. */
const ADD = 'INSERT IGNORE INTO source_accounts (source_id, account_id) VALUES ?';

/**
 * Creates a function that notes the accounts of a chunk as accounts of the source that has collected it, so that they can show how the
 * source's runs end.
 * @param sourceId null: the import was sent with an API key, and nothing is noted.
 */
export function createSourceAccounts(
  sql: Sql,
  sourceId: string | null,
): (chunk: Pick<Chunk, 'movements' | 'entries'>) => Promise<void> {
  const noted = new Set<string>();
  return async ({ movements, entries }) => {
    if (sourceId === null) return;
    const found = [...movements, ...entries].map(({ movement }) => movement.account_id);
    const added = [...new Set(found)].filter((id) => !noted.has(id));
    if (added.length === 0) return;
    await sql.query(ADD, [added.map((id) => [sourceId, id])]);
    for (const id of added) noted.add(id);
  };
}
