import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import { createStatementFormats, type StatementFormats } from '../../packages/statements/src/formats.ts';
import type { Profile } from '../../packages/statements/src/profile.ts';
import type { FileEvent, Recognition } from '../../packages/statements/src/read-files.ts';
import { UnreadableFileError } from '../../packages/statements/src/unreadable.ts';
import { createThreadPool, isOutOfMemory, type ThreadPool } from '../platform/thread.ts';
import { READ_SETTINGS } from './advice.ts';
import type { FromThread, ReadOrder, ToThread } from './parser-thread/parser-thread.ts';

/**
 * Parses files in worker threads, because strangers write the files. A file that fills the memory of a thread, or keeps it busy for
 * too long, ends only the thread. The import fails with a readable error, and the process goes on.
 */

/** Milliseconds within which a busy thread must send a result. It needs far less than a second for a part of 1 MiB. */
const DEADLINE = 20_000;

interface ThreadLimits {
  memoryLimit?: number;
  deadline?: number;
}

/** Creates formats that read in threads. The caller's thread still recognises the beginning of a file. */
export function createThreadedFormats(
  profiles: readonly Profile[],
  limits: ThreadLimits = {},
): StatementFormats {
  const { memoryLimit } = limits;
  const threads = createThreadPool(new URL('./parser-thread/parser-thread', import.meta.url), {
    workerData: profiles,
    ...(memoryLimit === undefined ? {} : { memoryLimit }),
  });
  return {
    ...createStatementFormats(profiles, READ_SETTINGS),
    read: (parts, recognition) => readInThread(threads, parts, recognition, limits),
  };
}

/** @throws {UnreadableFileError} also when the thread ends or does not answer. */
async function* readInThread(
  threads: ThreadPool,
  parts: AsyncIterable<Uint8Array>,
  recognition: Recognition,
  { deadline = DEADLINE }: ThreadLimits,
): AsyncGenerator<FileEvent> {
  const thread = threads.take();
  const { port1: port, port2 } = new MessageChannel();
  const messages = createInbox(thread, port, deadline);
  const order: ReadOrder = { port: port2, recognition };
  thread.postMessage(order, [port2]);
  const tell = (message: ToThread) => port.postMessage(message);
  const iterator = parts[Symbol.asyncIterator]();
  let isDone = false;
  try {
    for (;;) {
      const message = await messages.next();
      if (message === 'part wanted') {
        const { value, done } = await iterator.next();
        if (done) tell({ part: null });
        else sendPart(port, value);
      } else if (message === 'done') {
        isDone = true;
        return;
      } else if ('batch' in message) {
        tell('taken');
        yield* message.batch;
      } else {
        isDone = true;
        if ('defect' in message) throw message.defect;
        throw new UnreadableFileError(message.unreadable, message.hint);
      }
    }
  } finally {
    messages.close();
    port.close();
    // A thread whose file was not read to its end is still busy with it.
    if (isDone) threads.giveBack(thread);
    else void thread.terminate();
    await iterator.return?.();
  }
}

/** Hands over a copy. The bytes may be a view of a much larger buffer, all of which would otherwise be copied. */
function sendPart(port: MessagePort, bytes: Uint8Array): void {
  const part = new Uint8Array(bytes);
  const message: ToThread = { part };
  port.postMessage(message, [part.buffer]);
}

const TOO_LARGE =
  'The file needs more memory to be read than a file of statements may take. Check the program that made it.';
const TOO_SLOW =
  'Reading the file takes too long. Check the program that made it, or send it in several files.';

/** The messages of a thread about one file, in their order. Fails when the thread ends, or has said nothing for too long. */
function createInbox(thread: Worker, port: MessagePort, deadline: number) {
  const messages: FromThread[] = [];
  let failure: Error | null = null;
  let wake = () => {};
  const fail = (error: Error) => {
    failure ??= error;
    wake();
  };
  const onError = (error: Error) => fail(isOutOfMemory(error) ? new UnreadableFileError(TOO_LARGE) : error);
  const onExit = () => fail(new UnreadableFileError(TOO_LARGE));
  thread.on('error', onError).on('exit', onExit);
  port.on('message', (message: FromThread) => {
    messages.push(message);
    wake();
  });

  return {
    async next(): Promise<FromThread> {
      if (messages.length === 0 && failure === null) {
        let timer: NodeJS.Timeout | undefined;
        let isWaiting = true;
        const giveUp = () => isWaiting && fail(new UnreadableFileError(TOO_SLOW));
        await new Promise<void>((resolve) => {
          wake = resolve;
          // If this process was busy itself, the message may have arrived. Timers run before it is read, so giving up waits for one
          // more pass.
          timer = setTimeout(() => setImmediate(giveUp), deadline);
        });
        isWaiting = false;
        clearTimeout(timer);
      }
      const message = messages.shift();
      if (message !== undefined) return message;
      throw failure ?? new Error('woken without a message');
    },
    close: () => void thread.off('error', onError).off('exit', onExit),
  };
}
