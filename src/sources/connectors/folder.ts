import { setTimeout as delay } from 'node:timers/promises';
import { type Connector, FileError, type OfferedFile, SourceError } from './connector.ts';
import {
  findTaken,
  folderError,
  look,
  markFile,
  openFolders,
  readTaken,
  type SourceFolders,
  type TakenFile,
  takeFile,
} from './folder-files.ts';
import type { FolderSettings } from './settings.ts';

/** Why a folder source cannot be created or used. */
export const NO_FOLDERS = 'There are no folder sources on this service. Have the operator set SOURCES_DIR.';

/** How a run finds out that a file is complete. Milliseconds. */
interface Patience {
  /** A file that has changed within this time may still be written. */
  quiet: number;
  /** How often the folder is looked at while there are such files. A file is taken when it looks the same twice. */
  lookEvery: number;
  /** How long a run waits for such files. A later run takes the files that are not complete by then. */
  total: number;
}

const PATIENCE: Patience = { quiet: 5_000, lookEvery: 1_000, total: 15_000 };

/**
 * Connects to a folder. Files are moved to `processing/` before they are read, and to `done/` or `failed/` when their import has
 * ended. A run that ends in between leaves them in `processing/`, where the next run finds them.
 * @param source.folder the customer's folder; null: there is none.
 */
export function createFolderConnector({
  settings: { path },
  folder,
  now = Date.now,
  patience = PATIENCE,
}: {
  settings: FolderSettings;
  folder: string | null;
  now?: () => number;
  patience?: Patience;
}): Connector {
  let opened: Promise<SourceFolders> | null = null;
  const open = () => {
    if (folder === null) throw new SourceError(NO_FOLDERS);
    opened ??= openFolders(folder, path);
    return opened;
  };
  const explained = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw folderError(error, path);
    }
  };

  /** Who uses the folders. A run that was stopped may still be waiting for the file system when the connector is closed. */
  let users = 0;
  let isClosed = false;
  async function closeUnused(): Promise<void> {
    if (isClosed && users === 0) await (await opened?.catch(() => null))?.close();
  }
  async function leave(): Promise<void> {
    users -= 1;
    await closeUnused();
  }

  const offer = (file: TakenFile): OfferedFile => ({
    name: file.name,
    version: file.version,
    format: 'auto',
    async *open(signal) {
      users += 1;
      try {
        yield* readTaken(file, signal);
      } catch (error) {
        throw signal.aborted ? error : folderError(error, path);
      } finally {
        await leave();
      }
    },
  });

  const offerFailing = (name: string, state: string, error: FileError): OfferedFile => ({
    name,
    version: state,
    format: 'auto',
    // biome-ignore lint/correctness/useYield: there is nothing to read.
    async *open() {
      throw error;
    },
  });

  async function* takeNew(folders: SourceFolders, signal: AbortSignal): AsyncGenerator<OfferedFile> {
    const until = now() + patience.total;
    let before: ReadonlyMap<string, string> = new Map();
    /** Files that cannot be moved. */
    const stuck = new Set<string>();
    for (;;) {
      const found = await explained(look(folders.inbox));
      const complete = found.filter(({ name, state, changedAt }) => {
        const age = now() - changedAt;
        // The clock of a file server may be ahead of ours.
        return before.get(name) === state && (age >= patience.quiet || age < 0);
      });
      for (const { name, state } of complete) {
        signal.throwIfAborted();
        if (stuck.has(name)) continue;
        const taken = await explained(takeFile(folders, name)).catch((error: unknown) => {
          if (!(error instanceof FileError)) throw error;
          stuck.add(name);
          return offerFailing(name, state, error);
        });
        if (taken !== null) yield 'open' in taken ? taken : offer(taken);
      }
      if (complete.length === found.length || now() >= until) return;
      before = new Map(found.map(({ name, state }) => [name, state]));
      await delay(patience.lookEvery, undefined, { signal });
    }
  }

  return {
    async *files(_, signal) {
      users += 1;
      try {
        const folders = await open();
        for (const taken of await explained(findTaken(folders))) yield offer(taken);
        yield* takeNew(folders, signal);
      } finally {
        await leave();
      }
    },
    async mark(file, outcome) {
      users += 1;
      try {
        await explained(markFile(await open(), file, outcome));
      } finally {
        await leave();
      }
    },
    async close() {
      isClosed = true;
      await closeUnused();
    },
  };
}
