import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Megabytes of a thread's heap. Ordinary input never needs this much, so input that does was made to fill the memory. */
const MEMORY_LIMIT = 192;

/**
 * Starts a worker thread with a limit of memory, and without the environment of the process, which contains secrets. With
 * TypeScript sources, as in tests and `npm run dev`, the thread first registers their translator.
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
  const isSource = import.meta.url.endsWith('.ts');
  const file = `${module}.${isSource ? 'ts' : 'js'}`;
  if (!isSource) return new Worker(new URL(file), limited);
  const code = `import('tsx/esm/api').then(({ register }) => { register(); return import('${file}'); });`;
  return new Worker(code, { ...limited, eval: true });
}

/** Whether a thread has ended because it needed more memory than it may have. */
export const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
