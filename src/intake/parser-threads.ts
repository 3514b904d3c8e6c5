import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import { lookAhead } from '../../packages/statements/src/peek.ts';
import type { Profile } from '../../packages/statements/src/profile.ts';
import { type FileEvent, MAX_BEGINNING, type Recognition } from '../../packages/statements/src/read-files.ts';
import { UnreadableFileError } from '../../packages/statements/src/unreadable.ts';
import { createBudget, FOREVER } from '../platform/budget.ts';
import { Problem } from '../platform/problem.ts';
import { createThreadPool, isOutOfMemory, type ThreadPool } from '../platform/thread.ts';
import type { FromThread, ReadOrder, ToThread } from './parser-thread/parser-thread.ts';

/**
 * Parses files in worker threads, because strangers write the files. A file that fills the memory of a thread, or keeps it busy for
 * too long, ends only the thread. The import fails with a readable error, and the process goes on. The process itself looks at no byte
 * of a file.
 */

const SECOND = 1_000;
const MIB = 1024 * 1024;

/** Milliseconds within which a busy thread must send a result. It needs far less than a second for a part of 1 MiB. */
const DEADLINE = 20 * SECOND;

/** Milliseconds that a thread may be busy with a whole file, and further ones for each MiB that it was sent. */
const BUSY = 60 * SECOND;
const BUSY_PER_MIB = 2 * SECOND;

/** Beginnings of uploads that are checked at the same time, and how long one waits for its turn. */
const CHECKS = { total: 4, perOwner: 1 };
const PATIENCE = 10 * SECOND;

/** Files that are read at the same time. */
const READS = { total: 4, perOwner: 1 };

/** Reads files of statements. */
export interface FileReader {
  /**
   * Checks the beginning of a file, so that the answer to the upload says that the file cannot be read.
   * @param owner the customer, who has one check at a time.
   * @returns the whole stream, the beginning included.
   * @throws {UnreadableFileError} when an import would fail before its first row, and the beginning shows it.
   * @throws {Problem} 503 when other checks are busy for 10 s.
   */
  check(
    sent: AsyncIterable<Uint8Array>,
    recognition: Recognition,
    owner: string,
  ): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Yields the events of each file; see `readFiles`. Waits for a thread.
   * @param owner the customer, of whom one file is read at a time.
   * @throws {UnreadableFileError}
   */
  read(parts: AsyncIterable<Uint8Array>, recognition: Recognition, owner: string): AsyncIterable<FileEvent>;
  /** Whether a file waits for a thread. Left out: none ever does. */
  isAwaited?(): boolean;
}

interface ThreadOptions {
  /** Megabytes of a thread's heap. */
  memoryLimit?: number;
  deadline?: number;
  /** How long a check waits for its turn. */
  patience?: number;
  /** Is told of an unexpected error of a parser. Only the file ends as unreadable. */
  onDefect?: (error: Error) => void;
}

/** Creates a reader that reads in threads. */
export function createThreadedReader(
  profiles: readonly Profile[],
  { memoryLimit, deadline = DEADLINE, patience = PATIENCE, onDefect = () => {} }: ThreadOptions = {},
): FileReader {
  const threads = createThreadPool(new URL('./parser-thread/parser-thread', import.meta.url), {
    workerData: profiles,
    ...(memoryLimit === undefined ? {} : { memoryLimit }),
  });
  const checks = createBudget({ ...CHECKS, patience });
  const reads = createBudget({ ...READS, patience: FOREVER });
  const limits = { deadline, onDefect };
  return {
    async check(sent, recognition, owner) {
      const beginning: Uint8Array[] = [];
      // The bytes are awaited first, so that a slow client keeps no thread from others.
      const whole = await lookAhead(sent, collectInto(beginning), MAX_BEGINNING);
      const release = await checks.reserve(owner, 1);
      if (release === null) throw tooManyChecks();
      try {
        const order = { recognition, isCheck: true };
        for await (const _ of readInThread(threads, streamOf(beginning), order, limits));
      } finally {
        release();
      }
      return whole;
    },
    async *read(parts, recognition, owner) {
      const release = await reads.reserve(owner, 1);
      try {
        yield* readInThread(threads, parts, { recognition, isCheck: false }, limits);
      } finally {
        release?.();
      }
    },
    isAwaited: reads.isAwaited,
  };
}

const collectInto = (list: Uint8Array[]) => async (parts: AsyncIterable<Uint8Array>) => {
  for await (const part of parts) list.push(part);
};

async function* streamOf(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}

const tooManyChecks = () =>
  new Problem(
    'overloaded',
    `Other statement files are being read, at most ${CHECKS.perOwner} per customer. Send this one again later.`,
    { headers: { 'Retry-After': String(PATIENCE / SECOND) } },
  );

/** @throws {UnreadableFileError} also when the thread ends, does not answer or has a defect. */
async function* readInThread(
  threads: ThreadPool,
  parts: AsyncIterable<Uint8Array>,
  order: Omit<ReadOrder, 'port'>,
  { deadline, onDefect }: { deadline: number; onDefect: (error: Error) => void },
): AsyncGenerator<FileEvent> {
  const thread = threads.take();
  const { port1: port, port2 } = new MessageChannel();
  const toUnreadable = (error: Error): UnreadableFileError => {
    onDefect(error);
    return new UnreadableFileError(DEFECT);
  };
  const messages = createInbox(thread, port, { deadline, toUnreadable });
  thread.postMessage({ ...order, port: port2 } satisfies ReadOrder, [port2]);
  const tell = (message: ToThread) => port.postMessage(message);
  const iterator = parts[Symbol.asyncIterator]();
  let isDone = false;
  try {
    for (;;) {
      const message = await messages.next();
      if (message === 'part wanted') {
        const { value, done } = await iterator.next();
        if (done) tell({ part: null });
        else {
          messages.allow((value.length / MIB) * BUSY_PER_MIB);
          sendPart(port, value);
        }
      } else if (message === 'done') {
        isDone = true;
        return;
      } else if ('batch' in message) {
        tell('taken');
        yield* message.batch;
      } else {
        isDone = true;
        if ('defect' in message) throw toUnreadable(message.defect);
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

const DEFECT =
  'This file cannot be read: it contains something that the reader of its format does not expect. The log of the service says where.';

/**
 * The messages of a thread about one file, in their order. Fails when the thread ends, has said nothing for `deadline`, or has been busy
 * for too long altogether.
 */
function createInbox(
  thread: Worker,
  port: MessagePort,
  { deadline, toUnreadable }: { deadline: number; toUnreadable: (error: Error) => UnreadableFileError },
) {
  const messages: FromThread[] = [];
  let failure: Error | null = null;
  let left = BUSY;
  let wake = () => {};
  const fail = (error: Error) => {
    failure ??= error;
    wake();
  };
  const onError = (error: Error) =>
    fail(isOutOfMemory(error) ? new UnreadableFileError(TOO_LARGE) : toUnreadable(error));
  const onExit = () => fail(new UnreadableFileError(TOO_LARGE));
  thread.on('error', onError).on('exit', onExit);
  port.on('message', (message: FromThread) => {
    messages.push(message);
    wake();
  });

  return {
    /** Lets the thread be busy for longer. Milliseconds. */
    allow(more: number): void {
      left += more;
    },
    async next(): Promise<FromThread> {
      if (messages.length === 0 && failure === null) {
        const began = performance.now();
        let timer: NodeJS.Timeout | undefined;
        let isWaiting = true;
        const giveUp = () => isWaiting && fail(new UnreadableFileError(TOO_SLOW));
        await new Promise<void>((resolve) => {
          wake = resolve;
          // If this process was busy itself, the message may have arrived. Timers run before it is read, so giving up waits for one
          // more pass.
          timer = setTimeout(() => setImmediate(giveUp), Math.min(deadline, Math.max(left, 0)));
        });
        isWaiting = false;
        clearTimeout(timer);
        left -= performance.now() - began;
      }
      const message = messages.shift();
      if (message !== undefined) return message;
      throw failure ?? new Error('woken without a message');
    },
    close: () => void thread.off('error', onError).off('exit', onExit),
  };
}
