import { readFileSync } from 'node:fs';

const PAGES = new URL('../../../docs/receiving/', import.meta.url);

/** A fenced block whose info string is a language and the name of a file. */
const FILE_BLOCK = /^```\w+ (\S+)\n([\s\S]*?)^```$/gm;

/**
 * The programs in a page of docs/receiving: the text of each fenced block that names a file, by that name.
 * @throws when the page has none, or the same name twice.
 */
export function readFiles(page: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const [, name = '', text = ''] of readFileSync(new URL(page, PAGES), 'utf8').matchAll(FILE_BLOCK)) {
    if (files.has(name)) throw new Error(`docs/receiving/${page} has two blocks named ${name}`);
    files.set(name, text);
  }
  if (files.size === 0) throw new Error(`docs/receiving/${page} has no block that names a file`);
  return files;
}
