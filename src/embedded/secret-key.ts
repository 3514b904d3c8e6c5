import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { makePrivateDirectory, readOrCreateSecret } from './private-file.ts';

/**
 * The SECRET_KEY of an embedded installation: 32 random bytes in base64, created once and kept in DATA_DIR/secret.key
 * (mode 0600). Processes that start at the same time get the same key. Losing the file makes the stored secrets unreadable.
 */
export async function loadOrCreateSecretKey(dataDir: string): Promise<string> {
  const directory = resolve(dataDir);
  makePrivateDirectory(directory);
  return readOrCreateSecret(join(directory, 'secret.key'), () => randomBytes(32).toString('base64'));
}
