import { tmpdir } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { within } from '../../database/health.ts';
import { isOutOfMemory, startThread } from '../../platform/thread.ts';
import { type Connector, type OfferedFile, SourceError, untilAborted } from './connector.ts';
import type { Reply, Request, ThreadSource } from './connector-thread.ts';
import { type ConnectorKind, KINDS } from './kinds.ts';

/**
 * Runs connectors in worker threads. A stranger's server may send data that fills the memory or keeps the thread busy. Then only the
 * thread ends, and the run fails with an explanation. The process and other runs continue.
 */

/** How long a thread may take to close its connections. Milliseconds. */
const CLOSE_LIMIT = 5_000;

const TOO_LARGE =
  'The server sent something that needs more memory than a source may take. Check what it offers, and the settings of the source.';

/** The kinds of sources. A run that talks to a server has its own thread. A folder needs none. @param allow ALLOW_PRIVATE_ENDPOINTS. */
export function createThreadedKinds(allow: readonly string[]): Record<string, ConnectorKind> {
  const threaded = (kind: keyof typeof KINDS): ConnectorKind => ({
    ...KINDS[kind],
    create: ({ settings, credentials, accountId, settleSeconds }) =>
      createThreadedConnector({ kind, settings, credentials, accountId, settleSeconds, allow }),
  });
  return { ...KINDS, sftp: threaded('sftp'), http: threaded('http'), s3: threaded('s3') };
}

/** @param memoryLimit megabytes. */
export function createThreadedConnector(
  source: ThreadSource,
  { memoryLimit }: { memoryLimit?: number } = {},
): Connector {
  let thread: Worker | null = null;
  let failure: Error | null = null;
  let onProgress: (bytes: number) => void = () => {};
  /** The sent requests in order. The thread answers in the same order. */
  const waiting: { resolve: (reply: Reply) => void; reject: (error: unknown) => void }[] = [];

  function fail(error: Error): void {
    failure ??= error;
    for (const { reject } of waiting.splice(0)) reject(failure);
  }

  function start(): Worker {
    const started = startThread(new URL('./connector-thread', import.meta.url), {
      workerData: source,
      // package-lock.json has a version of the AWS SDK that runs on Node 20. Without this variable, each run would print a warning that
      // later versions do not run on it.
      env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true', TMPDIR: tmpdir() },
      ...(memoryLimit === undefined ? {} : { memoryLimit }),
    });
    started.on('message', (reply: Reply) => {
      if (typeof reply !== 'string' && 'progress' in reply) onProgress(reply.progress);
      else waiting.shift()?.resolve(reply);
    });
    started.on('error', (error) => fail(isOutOfMemory(error) ? new SourceError(TOO_LARGE) : error));
    started.on('exit', () => fail(new SourceError(TOO_LARGE)));
    return started;
  }

  /** @throws {SourceError} when the source cannot be read, or the thread has ended. */
  async function ask(request: Request): Promise<Exclude<Reply, { sourceError: string } | { defect: Error }>> {
    if (failure !== null) throw failure;
    thread ??= start();
    const replied = new Promise<Reply>((resolve, reject) => waiting.push({ resolve, reject }));
    thread.postMessage(request);
    const reply = await replied;
    if (reply === 'done') return reply;
    if ('sourceError' in reply) throw new SourceError(reply.sourceError);
    if ('defect' in reply) throw reply.defect;
    return reply;
  }

  async function* readParts(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (;;) {
      const reply = await untilAborted(ask({ do: 'next part' }), signal);
      if (typeof reply === 'string' || !('part' in reply) || reply.part === null) return;
      yield Buffer.from(reply.part.buffer, reply.part.byteOffset, reply.part.byteLength);
    }
  }

  return {
    async takeBack(marked, signal) {
      await untilAborted(ask({ do: 'take back', marked }), signal);
    },
    async *files(since, signal, noteProgress = () => {}) {
      onProgress = noteProgress;
      signal.addEventListener('abort', () => thread?.postMessage({ do: 'abort' } satisfies Request), {
        once: true,
      });
      for (;;) {
        const reply = await untilAborted(ask({ do: 'next file', since }), signal);
        if (typeof reply === 'string' || !('file' in reply) || reply.file === null) return;
        yield { ...reply.file, open: readParts } satisfies OfferedFile;
      }
    },
    async mark({ name, version }, outcome) {
      const reply = await ask({ do: 'mark', file: { name, version }, outcome });
      return typeof reply !== 'string' && 'place' in reply ? reply.place : null;
    },
    async putBack(file, signal) {
      const reply = await untilAborted(ask({ do: 'put back', file }), signal);
      return typeof reply !== 'string' && 'putBack' in reply ? reply.putBack : 'in place';
    },
    async close() {
      if (thread === null) return;
      const closing = failure === null ? ask({ do: 'close' }).catch(() => {}) : Promise.resolve();
      await within<unknown>(closing, CLOSE_LIMIT, () => null);
      await thread.terminate();
    },
  };
}
