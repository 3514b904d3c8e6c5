import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { installOnce } from '../servers/cache.ts';
import { orLeftOut } from './installed-program.ts';

/**
 * Installs a package with pip, once, into the cache that the servers of the tests are in too.
 * @param leftOut the sentence for a machine where it cannot be installed.
 * @returns the folder for PYTHONPATH, or null, after a line that says so, if that is not possible on this machine. @throws instead, if it
 * must run.
 */
export const findPythonPackage = (name: string, version: string, leftOut: string): Promise<string | null> =>
  orLeftOut(leftOut, () =>
    installOnce(`${name}-${version}`, async (unfinished) => {
      console.error(`Installing ${name} ${version} with pip …`);
      const args = ['-m', 'pip', 'install', '--quiet', '--target', unfinished, `${name}==${version}`];
      await promisify(execFile)('python3', args);
    }),
  );
