import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** How other packages are loaded, and how their values become ours. */

const require = createRequire(import.meta.url);

/** Loads a package of CommonJS. @param path below the folder where packages are installed. */
export const loadCommonJs = <Module>(folder: string, path: string): Module => require(join(folder, path));

/** Loads a package that has modules only. @param path below the folder where packages are installed. */
export const loadModule = (folder: string, path: string): Promise<unknown> =>
  import(pathToFileURL(join(folder, path)).href);

/** UTF-8 if it is, otherwise Windows-1252, as a careful user would open it. */
export function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/** The packages make dates at midnight UTC. */
export const toDay = (date: Date | '' | undefined | null): string =>
  date instanceof Date && !Number.isNaN(date.getTime()) ? date.toISOString().slice(0, 10) : '';

/** A number, whichever decimal sign it has. */
export const toNumber = (text: string): number => Number(text.replace(',', '.'));

export const withSign = (amount: number, isCredit: boolean): number => (isCredit ? amount : -amount);

/** One or several of a tag, as readers of XML give them. */
export const listOf = <T>(value: T | T[] | undefined | '' | null): T[] =>
  value === undefined || value === null || value === '' ? [] : Array.isArray(value) ? value : [value];
