import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Connector, OfferedFile } from '../../../src/sources/connectors/connector.ts';

/** The files that a run of a source gets from its connector. */
export interface Collected {
  name: string;
  version: string;
  cursor: string | undefined;
  text: string;
}

/** Reads all files that a source offers now, as a run does. */
export async function collect(
  connector: Connector,
  {
    since = null,
    signal = new AbortController().signal,
  }: { since?: string | null; signal?: AbortSignal } = {},
): Promise<Collected[]> {
  const files: Collected[] = [];
  for await (const file of connector.files(since, signal)) {
    files.push({ name: file.name, version: file.version, cursor: file.cursor, text: await readText(file) });
  }
  return files;
}

export async function readText(file: OfferedFile): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of file.open(new AbortController().signal)) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

const LOOK_EVERY = 16 * 1024 * 1024;

/**
 * Reads a file of any size. @returns its bytes, and the most memory that buffers took meanwhile, both in bytes. Buffers that nobody
 * holds do not count.
 */
export async function measure(connector: Connector): Promise<{ bytes: number; memory: number }> {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  let looked = 0;
  let bytes = 0;
  let memory = 0;
  for await (const file of connector.files(null, new AbortController().signal)) {
    for await (const part of file.open(new AbortController().signal)) {
      bytes += part.length;
      if (bytes - looked < LOOK_EVERY) continue;
      looked = bytes;
      collectGarbage();
      memory = Math.max(memory, process.memoryUsage().arrayBuffers - before);
    }
  }
  return { bytes, memory };
}
