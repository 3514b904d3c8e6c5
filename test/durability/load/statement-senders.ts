import { closeSync, openSync, writeSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from '../dice.ts';
import type { StatementFile } from './statement-client.ts';
import { sendUntilAcknowledged, type Uploader } from './upload.ts';

/** How long a program pauses before it writes more to a file. With a pause that is longer than `settle_seconds`, the file has been taken. */
const PAUSES: readonly [number, ...number[]] = [0, 0, 4_000, 12_000, 25_000];

/** Uploads statements, with and without an idempotency key, some of them slowly. @returns the id of the import. */
export const uploadStatements =
  (uploader: Uploader) =>
  ({ name, content }: StatementFile): Promise<string | null> =>
    sendUntilAcknowledged(uploader, {
      type: 'application/octet-stream',
      body: content,
      key: uploader.dice.whole(0, 1) === 0 ? name : null,
      slowly: uploader.dice.whole(1, 10) === 1 ? 500 : 0,
    });

/**
 * Puts statements into the folder of a source. What is there must be imported. Some statements of MT940 are written at the end of a file
 * that the program has kept open, wherever the source has put this file meanwhile.
 * @param stopping when it is aborted, pauses end.
 */
export function dropStatements(folder: string, dice: Dice, stopping: AbortSignal) {
  /** A descriptor. The one of the last file is left to the end of the process. */
  let growing: number | null = null;
  return async ({ name, content }: StatementFile): Promise<true> => {
    // A file may have several messages of MT940, and one document of XML.
    const mayGrow = typeof content === 'string' && content.startsWith(':20:');
    if (mayGrow && growing !== null) {
      await sleep(dice.pick(PAUSES), undefined, { signal: stopping }).catch(() => {});
      await writeInParts(growing, content, dice, stopping);
      if (dice.whole(1, 3) > 1) return true;
      closeSync(growing);
      growing = null;
    } else if (mayGrow && dice.whole(1, 4) === 1) {
      growing = openSync(join(folder, name), 'a');
      await writeInParts(growing, content, dice, stopping);
    } else {
      const unfinished = join(folder, `.${name}`);
      await writeFile(unfinished, content);
      await rename(unfinished, join(folder, name));
    }
    return true;
  };
}

/** Writes a message, now and then with a pause before one of its entries. */
async function writeInParts(file: number, text: string, dice: Dice, stopping: AbortSignal): Promise<void> {
  const middle = dice.whole(1, 3) === 1 ? text.indexOf(':61:', dice.whole(0, text.length)) : -1;
  if (middle === -1) return void writeSync(file, text);
  writeSync(file, text.slice(0, middle));
  await sleep(dice.pick(PAUSES), undefined, { signal: stopping }).catch(() => {});
  writeSync(file, text.slice(middle));
}
