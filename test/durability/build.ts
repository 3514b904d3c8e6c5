import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Compiles the product into a new directory inside the repository, so that node_modules is found.
 * @returns the directory, which is to be deleted after the run.
 */
export async function buildProduct(announce: (line: string) => void): Promise<string> {
  const parent = join(ROOT, 'dist-chaos');
  await mkdir(parent, { recursive: true });
  const directory = await mkdtemp(join(parent, 'run-'));
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = ['-p', 'tsconfig.build.json', '--outDir', directory];
  try {
    await promisify(execFile)(
      process.execPath,
      [tsc, ...args, '--incremental', 'false', '--tsBuildInfoFile', 'null'],
      {
        cwd: ROOT,
      },
    );
  } catch (error) {
    // tsc compiles in spite of type errors. `npm run check` reports those.
    announce(
      `tsc: ${String(error instanceof Error && 'stdout' in error ? error.stdout : error).slice(0, 500)}`,
    );
  }
  await access(join(directory, 'src', 'main.js'));
  return directory;
}
