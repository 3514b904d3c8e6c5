import { appendFileSync } from 'node:fs';
import { isBuiltin, register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

/**
 * Writes the specifier of each imported module of a package to the file LOADED_PACKAGES. Loaded with `--import`; Node runs `resolve` in
 * a thread of its own, for which this file is loaded a second time.
 */
if (isMainThread) register(import.meta.url);

export async function resolve(specifier, context, next) {
  if (/^[@a-z][^:]*$/.test(specifier) && !isBuiltin(specifier))
    appendFileSync(process.env.LOADED_PACKAGES, `${specifier}\n`);
  return next(specifier, context);
}
