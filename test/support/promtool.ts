import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { installPackages } from '../../src/platform/embedded/apt.ts';

/** Checks of Prometheus must run here: a missing promtool is a failure. `.ci/run` sets it, as for the receivers' languages. */
const MUST_RUN = process.env.TEST_ALL_LANGUAGES === 'true';

export const INSTALL_TIMEOUT = 10 * 60_000;

/** Runs promtool. @returns its exit code, and all that it printed. @param input for its standard input. */
export function promtool(args: readonly string[], input = ''): { code: number | null; output: string } {
  const { status, stdout, stderr } = run(args, input);
  return { code: status, output: `${stdout}${stderr}` };
}

const run = (args: readonly string[], input = ''): SpawnSyncReturns<string> =>
  spawnSync('promtool', args, { encoding: 'utf8', input });

const isThere = (): boolean => run(['--version']).error === undefined;

/**
 * Installs promtool with apt-get where it is missing.
 * @returns false, after a line that says so, if that is not possible on this machine. @throws instead, if it must run.
 */
export async function findPromtool(): Promise<boolean> {
  if (isThere()) return true;
  try {
    console.error('Installing prometheus with apt-get, for promtool …');
    await installPackages(['prometheus']);
  } catch (error) {
    if (MUST_RUN) throw error;
    const [reason = ''] = String(error).split('\n');
    console.error(`The alerts are not checked: promtool is missing (apt-get install prometheus). ${reason}`);
  }
  return isThere();
}
