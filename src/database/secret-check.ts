import type { SecretBox } from './secret-box.ts';
import type { Sql } from './transaction.ts';

const PURPOSE = 'check of SECRET_KEY';

/**
 * Checks that SECRET_KEY is the one this database was first used with. With another key nothing could be signed, and new secrets
 * would be sealed with a key that the other processes do not have.
 * @throws {SecretBoxError} when it is another key.
 */
export async function checkSecretKey(sql: Sql, secrets: SecretBox): Promise<void> {
  await sql.query('INSERT INTO installation (id, sealed) VALUES (1, ?) ON DUPLICATE KEY UPDATE id = id', [
    secrets.seal('ledgerbell', PURPOSE),
  ]);
  const [row] = await sql.query<{ sealed: string }[]>('SELECT sealed FROM installation WHERE id = 1');
  if (row !== undefined) secrets.open(row.sealed, PURPOSE);
}
