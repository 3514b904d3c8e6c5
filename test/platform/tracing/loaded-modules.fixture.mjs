import { appendFileSync } from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

/**
 * Writes each imported module of OpenTelemetry to the file LOADED_MODULES. Loaded with `--import`; Node runs `resolve` in a thread of
 * its own, for which this file is loaded a second time.
 */
if (isMainThread) register(import.meta.url);

export async function resolve(specifier, context, next) {
  if (specifier.includes('opentelemetry')) appendFileSync(process.env.LOADED_MODULES, `${specifier}\n`);
  return next(specifier, context);
}
