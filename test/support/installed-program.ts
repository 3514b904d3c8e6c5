import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { installPackages } from '../../src/servers/embedded/provision.ts';

/** The checks must run here: a missing program is a failure. `.ci/run` sets it, as for the receivers' languages. */
const MUST_RUN = process.env.TEST_ALL_LANGUAGES === 'true';

export const INSTALL_TIMEOUT = 10 * 60_000;

/** Runs a program. @returns its exit code, and all that it printed. @param input for its standard input. */
export function runProgram(
  program: string,
  args: readonly string[],
  input = '',
): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawn(program, args, input);
  return { code: status, output: `${stdout}${stderr}` };
}

const spawn = (program: string, args: readonly string[], input = ''): SpawnSyncReturns<string> =>
  spawnSync(program, args, { encoding: 'utf8', input });

const isThere = (program: string): boolean => spawn(program, ['--version']).error === undefined;

/**
 * Installs a program with apt-get where it is missing.
 * @param debianPackage the package that has it. @param leftOut the sentence for a machine where it cannot be installed.
 * @returns false, after a line that says so, if that is not possible on this machine. @throws instead, if it must run.
 */
export async function findProgram(program: string, debianPackage: string, leftOut: string): Promise<boolean> {
  if (isThere(program)) return true;
  await orLeftOut(`${leftOut}: ${program} is missing (apt-get install ${debianPackage})`, () => {
    console.error(`Installing ${debianPackage} with apt-get, for ${program} …`);
    return installPackages([debianPackage]);
  });
  return isThere(program);
}

/**
 * What `install` returns, or null, after a line that says so, if it fails. @param leftOut the beginning of that line.
 * @throws instead, if the checks must run here.
 */
export async function orLeftOut<T>(leftOut: string, install: () => Promise<T>): Promise<T | null> {
  try {
    return await install();
  } catch (error) {
    if (MUST_RUN) throw error;
    const [reason = ''] = String(error).split('\n');
    console.error(`${leftOut}. ${reason}`);
    return null;
  }
}

/**
 * Installs a Debian package unless it is installed. Its program may exist before the package is set up, while another test installs it.
 * @param program its path, by which a machine without dpkg knows it. @param purpose for the line that announces it.
 */
export async function ensurePackage(debianPackage: string, program: string, purpose: string): Promise<void> {
  const { error, stdout } = spawn('dpkg', ['--status', debianPackage]);
  if (error === undefined ? stdout.includes('\nStatus: install ok installed\n') : existsSync(program)) return;
  console.error(`Installing ${debianPackage} with apt-get, ${purpose} …`);
  await installPackages([debianPackage]);
}
