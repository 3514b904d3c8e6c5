import { readFileSync } from 'node:fs';

const PAGES = new URL('../../../docs/receiving/', import.meta.url);

/** A fenced block whose info string is a language and the name of a file. */
const FILE_BLOCK = /^```(?!diff)\w+ (\S+)\n([\s\S]*?)^```$/gm;

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

/** Shows the changes to the programs of other pages, and a program of its own. */
export const FORM_PAGE = 'form-encoding.md';

const DIFF_BLOCK = /^```diff (\S+)\n([\s\S]*?)^```$/gm;

/**
 * The changes that form-encoding.md shows for the programs of another page, in the order of the page.
 * @throws when it shows none.
 */
export function readChanges(page: string): { from: string; to: string }[] {
  const text = readFileSync(new URL(FORM_PAGE, PAGES), 'utf8');
  const diff = [...text.matchAll(DIFF_BLOCK)].find(([, name]) => name === page)?.[2];
  if (diff === undefined) throw new Error(`docs/receiving/form-encoding.md has no diff of ${page}`);
  return [...diff.matchAll(/((?:^-.*\n)+)((?:^\+.*\n)*)/gm)].map(([, from = '', to = '']) => ({
    from: from.replace(/^-/gm, ''),
    to: to.replace(/^\+/gm, ''),
  }));
}

/** Makes the changes. @throws when the lines to be changed are not there exactly once, in one of the files. */
export function applyChanges(
  files: ReadonlyMap<string, string>,
  changes: readonly { from: string; to: string }[],
): Map<string, string> {
  const changed = new Map(files);
  for (const { from, to } of changes) {
    // The diff's lines are whole lines, but for the last one, which may go on.
    const start = from.trimEnd();
    const found = [...changed].filter(([, text]) => text.split(start).length === 2);
    const [name, text] = found[0] ?? [];
    if (found.length !== 1 || name === undefined || text === undefined)
      throw new Error(`not exactly once in the page: ${start}`);
    changed.set(
      name,
      text.replace(start, () => to.trimEnd()),
    );
  }
  return changed;
}
