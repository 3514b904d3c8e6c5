import { setTimeout as delay } from 'node:timers/promises';
import { type Connector, FileError, type OfferedFile, SourceError } from './connector.ts';
import { isSettled, WAIT_FOR_WRITERS } from './file-names.ts';
import {
  findTaken,
  look,
  markFile,
  putBackFile,
  readTaken,
  type TakenFile,
  takeBackFile,
  takeFile,
} from './folder-files.ts';
import type { FolderSettings } from './settings.ts';
import { folderError, openFolders, type SourceFolders } from './source-folders.ts';

/** Collects files from a folder on the machine of the service. */

/** Why a folder source cannot be created or used. */
export const NO_FOLDERS = 'There are no folder sources on this service. Have the operator set SOURCES_DIR.';

/** How a run waits for files that may still be written. Milliseconds. */
interface Patience {
  /** How often the folder is looked at. */
  lookEvery: number;
  total: number;
}

const PATIENCE: Patience = { lookEvery: 1_000, total: WAIT_FOR_WRITERS };

/**
 * Connects to a folder. Files are moved to `processing/` before they are read, and to `done/` or `failed/` when their import has
 * ended. A run that ends in between leaves them in `processing/`, where the next run finds them.
 * @param source.folder the customer's folder; null: there is none.
 * @param source.settleSeconds a file that was changed within this time may still be written, and is left alone.
 */
export function createFolderConnector({
  settings: { path },
  folder,
  settleSeconds,
  now = Date.now,
  patience = PATIENCE,
}: {
  settings: FolderSettings;
  folder: string | null;
  settleSeconds: number;
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

  const settling = { settleSeconds, now };

  async function* takeNew(folders: SourceFolders, signal: AbortSignal): AsyncGenerator<OfferedFile> {
    const quiet = settleSeconds * 1_000;
    const until = now() + patience.total;
    /** Since when this run sees the files in their present states. */
    let seen: ReadonlyMap<string, { state: string; since: number }> = new Map();
    /** Files that cannot be moved. */
    const stuck = new Set<string>();
    for (;;) {
      const found = await explained(look(folders.inbox));
      const before = seen;
      seen = new Map(
        found.map(({ name, state }) => {
          const last = before.get(name);
          return [name, last?.state === state ? last : { state, since: now() }];
        }),
      );
      const complete = found.filter(({ name, changedAt }) => {
        if (!isSettled(changedAt, settling)) return false;
        const since = seen.get(name)?.since ?? now();
        return changedAt > now()
          ? now() - since >= Math.min(quiet, patience.total)
          : quiet === 0 || before.get(name)?.since === since;
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
      // A file that cannot be complete in time is left to a later run, without a wait.
      const waiting = found.filter(
        (file) => !complete.includes(file) && (file.changedAt > now() || file.changedAt + quiet <= until),
      );
      if (waiting.length === 0 || now() >= until) return;
      await delay(patience.lookEvery, undefined, { signal });
    }
  }

  /** Marked files that have changed, and cannot be taken back. */
  const stranded: OfferedFile[] = [];

  return {
    async takeBack(marked, signal) {
      users += 1;
      try {
        const folders = await open();
        for (const file of marked) {
          signal.throwIfAborted();
          await explained(takeBackFile(folders, file, (changedAt) => isSettled(changedAt, settling))).catch(
            (error: unknown) => {
              if (!(error instanceof FileError)) throw error;
              stranded.push(offerFailing(file.place, file.version, error));
            },
          );
        }
      } finally {
        await leave();
      }
    },
    async *files(_, signal) {
      users += 1;
      try {
        const folders = await open();
        yield* stranded.splice(0);
        for (const taken of await explained(findTaken(folders))) yield offer(taken);
        yield* takeNew(folders, signal);
      } finally {
        await leave();
      }
    },
    async mark(file, outcome) {
      users += 1;
      try {
        return await explained(markFile(await open(), file, outcome));
      } finally {
        await leave();
      }
    },
    async putBack(file) {
      users += 1;
      try {
        return await explained(putBackFile(await open(), file));
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
