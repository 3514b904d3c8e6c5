import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The files that a file of TypeScript imports from this repository, as paths. Imports within functions are left out. */
export const importsOf = (path: string): string[] =>
  [...readFileSync(path, 'utf8').matchAll(/from '(\.[^']+)'/g)].map(([, specifier = '']) =>
    join(dirname(path), specifier),
  );
