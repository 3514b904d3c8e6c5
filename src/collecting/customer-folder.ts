import { join, resolve } from 'node:path';

/**
 * The folder below which the folder sources of a customer lie.
 * @param sourcesDir SOURCES_DIR; undefined: there are no folder sources.
 * @returns an absolute path, or null.
 */
export const customerFolder = (sourcesDir: string | undefined, customerId: string): string | null =>
  sourcesDir === undefined ? null : join(resolve(sourcesDir), customerId);
