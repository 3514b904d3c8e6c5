import { readFile } from 'node:fs/promises';
import { countEntries } from './check.ts';
import type { LoadedReader } from './reader.ts';
import { readersOf } from './readers.ts';
import type { SpeedAnswer, SpeedTask } from './speed.ts';

/** Reads one file with one reader, once for each message, in a process of its own. */

let reader: LoadedReader | undefined;

process.on('message', async ({ format, index, path, folder }: SpeedTask) => {
  let answer: SpeedAnswer;
  try {
    reader ??= await readersOf(format)[index]?.open(folder);
    if (reader === undefined) throw new Error(`no reader ${index} of ${format}`);
    const { seconds, file } = await reader.read(await readFile(path));
    answer = { seconds, entries: countEntries(file) };
  } catch (error) {
    answer = { error: String(error).split('\n', 1)[0] ?? '', isLate: false };
  }
  process.send?.(answer);
});
