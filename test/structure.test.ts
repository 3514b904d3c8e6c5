import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

/**
 * The folders and files of src from top to bottom, as docs/architecture.md describes them. Each may import from those below it,
 * and those in one row may not import from each other. A new folder needs a place here.
 */
const LAYERS = [
  ['main.ts'],
  ['demo'],
  ['cli'],
  ['service.ts'],
  ['ops'],
  ['api', 'maintenance'],
  ['deliveries', 'imports', 'customers', 'sources', 'deleting'],
  ['retention'],
  ['collecting'],
  ['webhooks', 'listing', 'importing'],
  ['accounts'],
  ['http', 'delivering'],
  ['runtime.ts'],
  ['database', 'embedded', 'receiving', 'addresses', 'config.ts'],
  ['queues', 'metrics', 'tracing', 'moment.ts', 'batcher.ts', 'stopping.ts', 'cidrs.ts'],
  ['config', 'log.ts', 'validation.ts', 'zone-offset.ts', 'version.ts', 'counts.ts', 'heap.ts'],
];

const MAX_LINES = 250;

/** Names that files of several folders in src may have. In each of its folders, such a file has the same role. */
const ROLES = [
  'main.ts', // the entry of a program
  'app.ts', // the routes of a listener
  'server.ts', // starts a listener
  'connection.ts', // connects to a server
  'worker.ts', // starts a role, or what all workers share
  'reconcile.ts', // finds what is due and has no job
  'create.ts',
  'get.ts',
  'list.ts', // the route of that name
  'find.ts', // finds one for a caller, or answers 404
  'input.ts', // what a client sends
  'view.ts', // what the API shows
  'detect.ts', // whether a file has a format
  'parse.ts', // reads the text of a format
  'map.ts', // turns what a format says into what all formats say
  'statements.ts', // turns the parts of a format into the events of statements
  'notification.ts', // what subscribers receive: how it is built, and how the OpenAPI document describes it
];

interface File {
  /** From the root of the repository. */
  path: string;
  lines: number;
  /** Paths of the files of this repository that it imports, types included. */
  imports: string[];
}

function readFiles(folder: string): File[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((it) => it.isFile() && /\.tsx?$/.test(it.name))
    .map(({ parentPath, name }) => {
      const text = readFileSync(join(parentPath, name), 'utf8');
      const imported = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)].map(
        ([, path = '']) => path,
      );
      return {
        path: relative(ROOT, join(parentPath, name)),
        lines: text.split('\n').length - 1,
        imports: imported.map((path) => relative(ROOT, join(parentPath, path))),
      };
    });
}

/** The folder of src that a file belongs to, or the file itself where it lies in src. */
const partOf = (path: string): string => path.split('/')[1] ?? '';
const layerOf = (part: string): number => LAYERS.findIndex((layer) => layer.includes(part));

describe('the source', () => {
  const files = readFiles('src');

  it('has a layer for each of its folders', () => {
    const parts = new Set(files.map(({ path }) => partOf(path)));
    expect([...parts].toSorted()).toEqual(LAYERS.flat().toSorted());
  });

  it('imports from the top to the bottom', () => {
    const upwards = files.flatMap(({ path, imports }) =>
      imports
        .filter((other) => partOf(other) !== partOf(path) && layerOf(partOf(other)) <= layerOf(partOf(path)))
        .map((other) => `${path} imports ${other}`),
    );
    expect(upwards).toEqual([]);
  });

  it('has no two files of one name that mean different things', () => {
    const paths = new Map<string, string[]>();
    // A command of the command line has the name of what it does, which the product does too. Each format of statements has its
    // own lines, fields and dates.
    for (const { path } of files.filter((file) => !/\/commands\/|\/formats\/.+\//.test(file.path)))
      paths.set(basename(path), [...(paths.get(basename(path)) ?? []), path]);
    const repeated = [...paths].filter(([name, all]) => all.length > 1 && !ROLES.includes(name));
    expect(repeated).toEqual([]);
  });
});

describe('a file', () => {
  it(`has at most ${MAX_LINES} lines`, () => {
    const files = ['src', 'test', 'bench', 'workers'].flatMap(readFiles);
    const long = files.filter(({ lines }) => lines > MAX_LINES);
    expect(long.map(({ path, lines }) => `${path}: ${lines}`)).toEqual([]);
  });
});
