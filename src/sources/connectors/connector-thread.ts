import { parentPort, workerData } from 'node:worker_threads';
import { createAddressGuard } from '../../platform/address-guard.ts';
import { useAddressTimeout } from '../../platform/connector.ts';
import {
  type Connector,
  type FileOutcome,
  type MarkedFile,
  type OfferedFile,
  type PutAwayFile,
  type PutBack,
  SourceError,
} from './connector.ts';
import { KINDS } from './kinds.ts';

/** Code of a worker thread, which holds one connector for one run of a source. See threaded-connector.ts. */

/** The settings that the thread starts with. */
export interface ThreadSource {
  kind: keyof typeof KINDS;
  settings: unknown;
  credentials: unknown;
  accountId: string | null;
  settleSeconds: number;
  /** Private CIDR ranges to which connections are allowed. */
  allow: readonly string[];
}

/** Requests to the thread. Each request except `abort` is answered. */
export type Request =
  /** Gets the next file; null: there is none. */
  | { do: 'next file'; since: string | null }
  /** Gets the next part of the last file; null: the file is complete. */
  | { do: 'next part' }
  | { do: 'mark'; file: { name: string; version: string }; outcome: FileOutcome }
  | { do: 'take back'; marked: readonly MarkedFile[] }
  | { do: 'put back'; file: PutAwayFile }
  | { do: 'close' }
  | { do: 'abort' };

type ThreadFile = Pick<OfferedFile, 'name' | 'version' | 'format' | 'cursor'>;

export type Reply =
  | { file: ThreadFile | null }
  | { part: Uint8Array | null }
  /** So many bytes have arrived. Sent at any time, not as an answer. */
  | { progress: number }
  | { place: string | null }
  | { putBack: PutBack }
  | 'done'
  /** A sentence for the owner of the source. */
  | { sourceError: string }
  /** A defect of the connector. */
  | { defect: Error };

useAddressTimeout();

const { kind, allow, ...source } = workerData as ThreadSource;
const connector: Connector = KINDS[kind].create({
  ...source,
  folder: null,
  guard: createAddressGuard({ allow, subject: 'source' }),
});
const aborting = new AbortController();
let files: AsyncIterator<OfferedFile> | null = null;
let file: OfferedFile | null = null;
let parts: AsyncIterator<Uint8Array> | null = null;

/** A server may send single bytes, and a message for each of them would keep the process busy. */
const REPORTED_BYTES = 64 * 1024;
let unreported = 0;

function reportProgress(bytes: number): void {
  unreported += bytes;
  if (unreported < REPORTED_BYTES) return;
  parentPort?.postMessage({ progress: unreported } satisfies Reply);
  unreported = 0;
}

async function carryOut(request: Request): Promise<Reply> {
  switch (request.do) {
    case 'next file': {
      await parts?.return?.();
      parts = null;
      files ??= connector.files(request.since, aborting.signal, reportProgress)[Symbol.asyncIterator]();
      const { value, done } = await files.next();
      file = done === true ? null : value;
      if (file === null) return { file };
      const { name, version, format, cursor } = file;
      return { file: { name, version, format, ...(cursor === undefined ? {} : { cursor }) } };
    }
    case 'next part': {
      if (file === null) throw new Error('there is no file to read');
      parts ??= file.open(aborting.signal)[Symbol.asyncIterator]();
      const { value, done } = await parts.next();
      // A copy, because the bytes may be a view of a much larger buffer, which would be sent as a whole.
      return { part: done === true ? null : new Uint8Array(value) };
    }
    case 'mark':
      return { place: (await connector.mark?.(request.file, request.outcome)) ?? null };
    case 'take back':
      await connector.takeBack?.(request.marked, aborting.signal);
      return 'done';
    case 'put back':
      return { putBack: (await connector.putBack?.(request.file, aborting.signal)) ?? 'in place' };
    case 'close':
      await connector.close();
      return 'done';
    case 'abort':
      aborting.abort();
      return 'done';
  }
}

parentPort?.on('message', async (request: Request) => {
  const reply = await carryOut(request).catch((error: unknown): Reply => {
    if (error instanceof SourceError) return { sourceError: error.message };
    return { defect: error instanceof Error ? error : new Error(String(error)) };
  });
  if (request.do !== 'abort') parentPort?.postMessage(reply);
});
