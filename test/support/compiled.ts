import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');

/** The compiled program of a source such as `src/main.ts`. It starts in a quarter of the time that the source takes. */
export const compiled = (source: string, root = ROOT): string =>
  join(root, 'dist', source.replace(/\.ts$/, '.js'));

/**
 * Compiles the product as `npm start` does, without checking types. Says so the first time, which takes longest.
 * @throws {Error} with what tsc says.
 */
export async function compile({
  root = ROOT,
  announce,
}: {
  root?: string;
  announce?: (line: string) => void;
} = {}): Promise<void> {
  if (!existsSync(compiled('src/main.ts', root)))
    announce?.('Compiling the product for the tests of its commands (10 s) …');
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  try {
    await promisify(execFile)(process.execPath, [tsc, '-b', 'tsconfig.build.json', '--noCheck'], {
      cwd: root,
    });
  } catch (error) {
    throw error instanceof Error && 'stdout' in error ? new Error(`tsc: ${error.stdout}`) : error;
  }
}

/** Builds the guides with the compiled product, as `npm start` does. */
export async function buildGuides(): Promise<void> {
  await promisify(execFile)(process.execPath, [compiled('guides/main.ts')], { cwd: ROOT });
}

/** Does something once in this process. Vitest reads its configuration for each project, at the same time, and each has modules of its own. */
export function once(name: string, task: () => Promise<void>): Promise<void> {
  const done = globalThis as unknown as Record<symbol, Promise<void> | undefined>;
  const key = Symbol.for(name);
  done[key] ??= task();
  return done[key];
}
