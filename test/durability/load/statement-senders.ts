import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StatementFile } from './statement-client.ts';
import { sendUntilAcknowledged, type Uploader } from './upload.ts';

/** Uploads statements, with and without an idempotency key, some of them slowly. */
export const uploadStatements =
  (uploader: Uploader) =>
  ({ name, content }: StatementFile): Promise<boolean> =>
    sendUntilAcknowledged(uploader, {
      type: 'application/octet-stream',
      body: content,
      key: uploader.dice.whole(0, 1) === 0 ? name : null,
      slowly: uploader.dice.whole(1, 10) === 1 ? 500 : 0,
    });

/** Puts statements into the folder of a source. A file that is there must be imported. */
export const dropStatements =
  (folder: string) =>
  async ({ name, content }: StatementFile): Promise<boolean> => {
    const unfinished = join(folder, `.${name}`);
    await writeFile(unfinished, content);
    await rename(unfinished, join(folder, name));
    return true;
  };
