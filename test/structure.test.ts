import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const PROGRAM = ['main.ts', 'run.ts', 'service.ts'];

interface Room {
  /** How many of its files other rooms import. */
  front: number;
  /** The rooms that it may import from. */
  imports: string[];
}

/** The packages and rooms of docs/architecture/rooms.md. A package is a room of its own. */
function readRooms(): Map<string, Room> {
  const [, page = ''] = readFileSync(join(ROOT, 'docs/architecture/rooms.md'), 'utf8').split(
    '## Packages and rooms\n',
  );
  const rooms = new Map<string, Room>();
  for (const [, room = '', front, imports = ''] of page.matchAll(
    /^\| `([\w-]+)` \|.*\| (\d+) \| (.+) \|$/gm,
  )) {
    const named = [...imports.matchAll(/`([\w.-]+)`/g)].map(([, name = '']) => name);
    rooms.set(room, {
      front: Number(front),
      imports: imports.includes('the rooms above') ? [...rooms.keys(), ...named] : named,
    });
  }
  return rooms;
}

/** The room of a path such as `src/intake/stage.ts` or `packages/statements/src/statement.ts`. */
const roomOf = (path: string): string => path.split('/')[1] ?? '';

/** Whether a file lies in a folder of its room. */
const isPrivate = (path: string): boolean => !/^(?:src(?:\/[^/]+)?|packages\/[^/]+\/src)\/[^/]+$/.test(path);

const foldersOf = (path: string): string[] =>
  readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

const rooms = readRooms();
const files = ['src', ...foldersOf('packages').map((name) => `packages/${name}/src`)]
  .filter((folder) => existsSync(join(ROOT, folder)))
  .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)));

it('docs/architecture/rooms.md has a line for every package and for every folder of src', () => {
  expect([...foldersOf('packages'), ...foldersOf('src')].toSorted()).toEqual([...rooms.keys()].toSorted());
});

/** Each import of a file of another room or package. */
const imports = files.flatMap((path) =>
  [...readFileSync(join(ROOT, path), 'utf8').matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)]
    .map(([, specifier = '']) => ({ path, imported: relative(ROOT, join(ROOT, path, '..', specifier)) }))
    .filter(({ imported }) => roomOf(imported) !== roomOf(path)),
);

it('a room imports only from rooms that docs/architecture/rooms.md allows', () => {
  const forbidden = imports
    .filter(({ path }) => !PROGRAM.includes(roomOf(path)))
    .filter(({ path, imported }) => !rooms.get(roomOf(path))?.imports.includes(roomOf(imported)))
    .map(({ path, imported }) => `${path} imports ${imported}`);
  expect(forbidden).toEqual([]);
});

it('a room imports no private file of another room', () => {
  const forbidden = imports
    .filter(({ imported }) => isPrivate(imported))
    .map(({ path, imported }) => `${path} imports ${imported}`);
  expect(forbidden).toEqual([]);
});

it('the front of each room has as many files as docs/architecture/rooms.md says', () => {
  const imported = new Set(imports.map((it) => it.imported));
  const fronts = [...rooms.keys()].map((room) => [
    room,
    [...imported].filter((path) => roomOf(path) === room).length,
  ]);
  expect(fronts).toEqual([...rooms].map(([room, { front }]) => [room, front]));
});

it('every file directly in a room is part of its front, except for the command line, which nobody imports', () => {
  const imported = new Set(imports.map((it) => it.imported));
  const hidden = files.filter(
    (path) =>
      path.startsWith('src/') &&
      path.split('/').length === 3 &&
      roomOf(path) !== 'cli' &&
      !imported.has(path),
  );
  expect(hidden).toEqual([]);
});

/** A condition on what fails, is late or is behind. */
const JUDGING =
  /\b(?:failing_since|circuit_open_until|consecutive_failures|late_since|behind_since|flapping_since|crash_count)\s*(?:IS|[<>=!])/;

it('no room that shows something asks the database what is late, behind or failing: the verdict does', () => {
  const queriesOf = (path: string) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(/(['`"])[^'`"]*\bSELECT\b[\s\S]*?\1/g)].map(
      ([sql]) => sql,
    );
  const asking = (rooms: RegExp) =>
    files.filter((path) => rooms.test(path) && queriesOf(path).some((sql) => JUDGING.test(sql)));
  expect(asking(/^src\/(?:api|cli|console|http|supervisor|upkeep)\//)).toEqual([]);
  // The pattern finds such queries where they belong.
  expect(asking(/^src\/verdict\//).length).toBeGreaterThan(2);
});
