import { on } from 'node:events';
import { existsSync } from 'node:fs';
import { setImmediate as nextPass } from 'node:timers/promises';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Runs work in threads, and exchanges messages with them. */

/** Megabytes of a thread's heap. Ordinary input never needs this much, so input that does was made to fill the memory. */
const MEMORY_LIMIT = 192;

/**
 * Starts a worker thread with a limit of memory, and without the environment of the process, which contains secrets. Where
 * the module is not compiled, as with `npm run dev`, the thread first registers the translator of TypeScript.
 * @param module without its extension.
 */
export function startThread(
  module: URL,
  {
    memoryLimit = MEMORY_LIMIT,
    env = {},
    workerData,
  }: { memoryLimit?: number; env?: Record<string, string>; workerData: unknown },
): Worker {
  const limited: WorkerOptions = {
    workerData,
    env,
    resourceLimits: { maxOldGenerationSizeMb: memoryLimit, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
  };
  const compiled = new URL(`${module}.js`);
  if (existsSync(compiled)) return new Worker(compiled, limited);
  const code = `import('tsx/esm/api').then(({ register }) => { register(); return import('${module}.ts'); });`;
  return new Worker(code, { ...limited, eval: true });
}

/** Most idle threads of a pool that wait for more work. */
const MOST_IDLE = 2;

/** Milliseconds after which an idle thread ends. */
const IDLE_TIME = 60_000;

export interface ThreadPool {
  /** @returns an idle thread, or a new one. */
  take(): Worker;
  /** Called with a thread that can begin other work. */
  giveBack(thread: Worker): void;
}

/** Starts threads as `startThread` does, and keeps a few of them for later. */
export function createThreadPool(module: URL, options: Parameters<typeof startThread>[1]): ThreadPool {
  const idle = new Map<Worker, NodeJS.Timeout>();
  const start = () => {
    const thread = startThread(module, options);
    // Without a listener, the error of an idle thread would end the process. A thread that ends is not used again.
    thread.on('error', () => {});
    thread.on('exit', () => {
      clearTimeout(idle.get(thread));
      idle.delete(thread);
    });
    return thread;
  };
  return {
    take() {
      const [waiting] = idle;
      if (waiting === undefined) return start();
      const [thread, timer] = waiting;
      clearTimeout(timer);
      idle.delete(thread);
      thread.ref();
      return thread;
    },
    giveBack(thread) {
      if (idle.size >= MOST_IDLE) return void thread.terminate();
      thread.unref();
      idle.set(thread, setTimeout(() => void thread.terminate(), IDLE_TIME).unref());
    },
  };
}

/**
 * Sends a thread its input in parts, and then asks for its answer in parts, because a large message would block both sides.
 * @param options.parts the messages with the input.
 * @param options.question the message that asks for the next part of the answer.
 * @param options.signal ends the waiting.
 * @throws the error of the thread, or of the signal.
 */
export async function* exchange<Answer extends { areMore: boolean }>(
  thread: Worker,
  { parts, question, signal }: { parts: Iterable<unknown>; question: unknown; signal: AbortSignal },
): AsyncGenerator<Answer> {
  const answers = on(thread, 'message', { signal });
  try {
    for (const part of parts) {
      thread.postMessage(part);
      // The process does other work between the parts.
      await nextPass();
    }
    for (let areMore = true; areMore; ) {
      thread.postMessage(question);
      const { value } = await answers.next();
      const [answer] = value as [Answer];
      areMore = answer.areMore;
      yield answer;
    }
  } finally {
    await answers.return?.();
  }
}

/** Whether a thread has ended because it needed more memory than it may have. */
export const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
