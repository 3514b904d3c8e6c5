import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installOnce } from '../servers/cache.ts';
import { orLeftOut } from './installed-program.ts';

const run = promisify(execFile);

/**
 * Installs a program with `go install`, once, into the cache that the servers of the tests are in too.
 * @param pkg the package of its `main`, such as `helm.sh/helm/v4/cmd/helm`. @param version such as `v4.3.1`.
 * @param leftOut the sentence for a machine where it cannot be installed.
 * @returns its path, or null, after a line that says so, if that is not possible on this machine. @throws instead, if it must run.
 */
export const findGoProgram = (pkg: string, version: string, leftOut: string): Promise<string | null> =>
  orLeftOut(leftOut, async () => {
    const name = pkg.split('/').at(-1) ?? pkg;
    const folder = await installOnce(`${name}-${version}`, async (unfinished) => {
      console.error(`Installing ${name} ${version} with go install …`);
      await run('go', ['install', `${pkg}@${version}`], { env: { ...process.env, GOBIN: unfinished } });
    });
    return join(folder, name);
  });

/**
 * The folder of a Go module's source, from Go's own cache. @param module such as `github.com/kedacore/keda/v2@v2.21.0`.
 * @returns null, as `findGoProgram` does.
 */
export const findGoModule = (module: string, leftOut: string): Promise<string | null> =>
  orLeftOut(leftOut, async () => {
    const { stdout } = await run('go', ['mod', 'download', '-json', module]);
    return JSON.parse(stdout).Dir;
  });
