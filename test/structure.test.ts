import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const PROGRAM = ['main.ts', 'run.ts', 'service.ts'];

/** The rooms of docs/architecture.md, and for each of them the rooms that it may import from. */
function readRooms(): Map<string, string[]> {
  const [, page = ''] = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8').split('## Rooms\n');
  const rooms = new Map<string, string[]>();
  for (const [, room = '', imports = ''] of page.matchAll(/^\| `(\w+)` \|.*\| (.+) \|$/gm)) {
    const named = [...imports.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name);
    rooms.set(room, imports.includes('the rooms above') ? [...rooms.keys(), ...named] : named);
  }
  return rooms;
}

/** The room of a path such as `src/imports/stage.ts`. */
const roomOf = (path: string): string => path.split('/')[1] ?? '';

const rooms = readRooms();
const files = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)));

it('every folder of src is a room in docs/architecture.md', () => {
  const folders = new Set(files.map(roomOf).filter((name) => !PROGRAM.includes(name)));
  expect([...folders].toSorted()).toEqual([...rooms.keys()].toSorted());
});

it('a room imports only from rooms that docs/architecture.md allows', () => {
  const forbidden = files.flatMap((path) => {
    const room = roomOf(path);
    const text = readFileSync(join(ROOT, path), 'utf8');
    return [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)]
      .map(([, specifier = '']) => relative(ROOT, join(ROOT, path, '..', specifier)))
      .filter((other) => roomOf(other) !== room && !PROGRAM.includes(room))
      .filter((other) => !rooms.get(room)?.includes(roomOf(other)))
      .map((other) => `${path} imports ${other}`);
  });
  expect(forbidden).toEqual([]);
});
