import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The files that a file of TypeScript imports from this repository, as paths. Imports within functions are left out.
 * @param types false: without files of which only types are imported, because they are not loaded.
 */
export const importsOf = (path: string, { types = true } = {}): string[] =>
  [
    ...readFileSync(path, 'utf8').matchAll(
      types ? /from '(\.[^']+)'/g : /(?<!^(?:import|export) type [^;]*)from '(\.[^']+)'/gm,
    ),
  ].map(([, specifier = '']) => join(dirname(path), specifier));
