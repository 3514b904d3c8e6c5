import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installOnce } from '../servers/cache.ts';
import { orLeftOut } from './installed-program.ts';

const run = promisify(execFile);

/** The package of each program's `main`, and its version. */
const PROGRAMS = {
  helm: ['helm.sh/helm/v4/cmd/helm', 'v4.3.1'],
  'oapi-codegen': ['github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen', 'v2.8.2'],
  compose: ['github.com/compose-spec/compose-go/v2/cmd', 'v2.16.2'],
} as const;

export const GO_PROGRAMS = Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[];

/**
 * Installs a program with `go install`, once, into the cache that the servers of the tests are in too.
 * @param leftOut the sentence for a machine where it cannot be installed.
 * @returns its path, or null, after a line that says so, if that is not possible on this machine. @throws instead, if it must run.
 */
export const findGoProgram = (name: keyof typeof PROGRAMS, leftOut: string): Promise<string | null> =>
  orLeftOut(leftOut, async () => {
    const [source, version] = PROGRAMS[name];
    const folder = await installOnce(`${name}-${version}`, async (unfinished) => {
      console.error(`Installing ${name} ${version} with go install …`);
      await run('go', ['install', `${source}@${version}`], { env: { ...process.env, GOBIN: unfinished } });
    });
    return join(folder, source.split('/').at(-1) ?? '');
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
