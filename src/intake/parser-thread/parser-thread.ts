import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { createStatementFormats } from '../../../packages/statements/src/formats.ts';
import type { Profile } from '../../../packages/statements/src/profile.ts';
import type { FileEvent, Recognition } from '../../../packages/statements/src/read-files.ts';
import { UnreadableFileError } from '../../../packages/statements/src/unreadable.ts';
import { READ_SETTINGS } from '../advice.ts';

/** Runs in a worker thread: parses one file after the other. See parser-threads.ts. */

/** The order to read a file. Everything else about the file goes through its own port. */
export interface ReadOrder {
  port: MessagePort;
  recognition: Recognition;
  /** Only the beginning is checked, and no events are sent. */
  isCheck: boolean;
}

/** Messages to the thread about a file. `taken`: a batch was taken, so the thread may send another one. */
export type ToThread = { part: Uint8Array | null } | 'taken';

/** Messages from the thread about a file. */
export type FromThread =
  | 'part wanted'
  | { batch: FileEvent[] }
  | 'done'
  | { unreadable: string; hint: string | undefined }
  /** A defect of the parser. */
  | { defect: Error };

/** Batches that may be sent before one is taken. The thread continues to parse while earlier batches are stored. */
const BATCHES_AHEAD = 4;

/** Entries in a batch. One large message costs less than many small ones. */
const BATCH_SIZE = 500;

const formats = createStatementFormats(workerData as Profile[], READ_SETTINGS);

async function read({ port, recognition, isCheck }: ReadOrder): Promise<void> {
  const tell = (message: FromThread) => port.postMessage(message);
  const parts: ((part: Uint8Array | null) => void)[] = [];
  let ahead = 0;
  let goOn = () => {};
  port.on('message', (message: ToThread) => {
    if (message !== 'taken') return void parts.shift()?.(message.part);
    ahead -= 1;
    goOn();
  });

  async function* sent(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const wanted = new Promise<Uint8Array | null>((resolve) => parts.push(resolve));
      tell('part wanted');
      const part = await wanted;
      if (part === null) return;
      yield Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    }
  }

  let batch: FileEvent[] = [];
  let size = 0;
  const send = async () => {
    while (ahead >= BATCHES_AHEAD) {
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
    }
    ahead += 1;
    tell({ batch });
    batch = [];
    size = 0;
  };
  try {
    if (isCheck) await formats.check(sent(), recognition);
    else
      for await (const it of formats.read(sent(), recognition)) {
        batch.push(it);
        size += 'events' in it ? it.events.length : 1;
        if (size >= BATCH_SIZE) await send();
      }
    if (size > 0) await send();
    tell('done');
  } catch (error) {
    if (size > 0) await send();
    if (error instanceof UnreadableFileError) tell({ unreadable: error.message, hint: error.hint });
    else tell({ defect: error instanceof Error ? error : new Error(String(error)) });
  } finally {
    port.close();
  }
}

parentPort?.on('message', (order: ReadOrder) => void read(order));
