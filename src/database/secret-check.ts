import type { DataSource } from 'typeorm';
import { SEALED, type SecretBox } from './secret-box.ts';
import { inTransaction, type Sql } from './transaction.ts';

/** Index: the primary key. */
const ADD = 'INSERT IGNORE INTO installation (key_id, sealed) VALUES (?, ?)';

/** The lock waits for a process that is adding its key, so that of two keys that do not know each other one is refused. */
const READ = 'SELECT key_id, sealed FROM installation LOCK IN SHARE MODE';

const FORGET = 'DELETE FROM installation WHERE key_id <> ?';

/**
 * Checks that this process can open what is sealed with each key that is in use, and adds its own SECRET_KEY to these. A process
 * that does not know one of them could not sign, and would seal with a key that the others do not have.
 * @throws {SecretBoxError} when there is a key that is neither its SECRET_KEY nor one of its SECRET_KEY_PREVIOUS. Nothing is
 * changed then.
 */
export async function checkSecretKey(database: DataSource, secrets: SecretBox): Promise<void> {
  await inTransaction(database, async (sql) => {
    await sql.query(ADD, [secrets.keyId, secrets.seal('ledgerbell', SEALED.keyCheck(secrets.keyId))]);
    const rows = await sql.query<{ key_id: string; sealed: string }[]>(READ);
    for (const { key_id, sealed } of rows) secrets.open(sealed, SEALED.keyCheck(key_id));
  });
}

/** Makes SECRET_KEY the only key in use. Call it when nothing is sealed with another one any more. */
export async function forgetPreviousKeys(sql: Sql, { keyId }: SecretBox): Promise<void> {
  await sql.query(FORGET, [keyId]);
}
