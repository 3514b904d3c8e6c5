import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { importsOf } from '../imports-of.ts';

const TESTS = join(import.meta.dirname, '../..');
const THIS = dirname(import.meta.filename);

/** What takes the same random values each time, given a number. */
const HAS_SEED = /from 'fast-check'|\bSEEDS?\b|\bseed: |\bcreateDice\(|\bcreateRandom\(/;

/** Whether what a test does depends on a seed: it says so itself, or a file of test/ that it imports does. */
export const hasSeed = (path: string): boolean =>
  withImports(path).some((file) => HAS_SEED.test(readFileSync(file, 'utf8')));

/** The seeds to repeat a failure with: those of its message, or else those that stand in the test and in what it imports. */
export function seedsOf(path: string, message: string): string {
  const told = message.match(/\b\w*seed\W{1,3}\d[\d_]*/gi) ?? [];
  const written = withImports(path).flatMap(
    (file) =>
      readFileSync(file, 'utf8').match(
        /\b\w*SEEDS? = [^;\n]*\d[^;\n]*|\bseed: \d[\d_]*|\bcreateDice\(\d[\d_]*\)/g,
      ) ?? [],
  );
  const seeds = told.length > 0 ? told : written;
  return [...new Set(seeds)].join(', ') || 'none is known, because no property has failed';
}

/** A test and the files of test/ that it imports, without those that say "seed" only because they look for it. */
function withImports(path: string, known = new Set<string>()): string[] {
  if (known.has(path) || !path.startsWith(TESTS + sep) || path.startsWith(THIS) || !existsSync(path))
    return [];
  known.add(path);
  return [path, ...importsOf(path, { types: false }).flatMap((other) => withImports(other, known))];
}
