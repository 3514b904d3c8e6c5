import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { Connector, OfferedFile } from '../../../src/sources/connectors/connector.ts';
import { createFolderConnector } from '../../../src/sources/connectors/folder.ts';

/** Folders for tests of the connector alone. The collector, with a real service, is in folder-collecting.test.ts. */

const never = new AbortController().signal;

/** Makes temporary folders, which are removed after the file's tests. Call it at the top of the file. */
export function useFolders() {
  const made: string[] = [];
  afterAll(async () => {
    for (const folder of made) await rm(folder, { recursive: true, force: true });
  });

  async function newFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'ledgerbell-folder-'));
    made.push(folder);
    return folder;
  }

  /** A customer's folder, in which `inbox` is collected from. */
  async function newRoot() {
    const root = join(await newFolder(), 'customer');
    await mkdir(join(root, 'inbox'), { recursive: true });
    const connect = ({ settleSeconds = 0.2, total = 2_000, now = Date.now } = {}) =>
      createFolderConnector({
        settings: { path: 'inbox' },
        folder: root,
        settleSeconds,
        now,
        patience: { lookEvery: 20, total },
      });
    return { root, inbox: join(root, 'inbox'), connect, list: (path: string) => readdir(join(root, path)) };
  }

  return { newFolder, newRoot };
}

export async function collect(connector: Connector): Promise<OfferedFile[]> {
  const files: OfferedFile[] = [];
  for await (const file of connector.files(null, never)) files.push(file);
  return files;
}

export const namesOf = async (connector: Connector) => (await collect(connector)).map(({ name }) => name);

export async function textOf(file: OfferedFile | undefined): Promise<string> {
  if (file === undefined) throw new Error('there is no file');
  const parts: Uint8Array[] = [];
  for await (const part of file.open(never)) parts.push(part);
  return Buffer.concat(parts).toString();
}
