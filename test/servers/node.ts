import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lastLines, runCommand } from '../../src/servers/embedded/command.ts';
import { installOnce } from './cache.ts';

/**
 * Installs a Node of this major version from npm's registry, beside the machine's own. One that is installed stays as it is.
 * @returns the folder of the program `node`, for PATH.
 * @throws {Error} with the last lines of npm's output.
 */
export async function installNode(
  major: string,
  { announce, signal }: { announce: (line: string) => void; signal: AbortSignal },
): Promise<string> {
  // The package `node` has no program. Its install script, which npm may refuse to run, installs this package.
  const program = `node-${process.platform}-${process.arch}`;
  const home = await installOnce(
    `node-${major}`,
    async (folder) => {
      announce(`Installing Node ${major} with npm.`);
      await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
      const npm = ['install', '--prefix', folder, '--no-audit', '--no-fund', `${program}@${major}`];
      const { ok, output } = await runCommand('npm', npm, { cwd: folder });
      if (!ok) throw new Error(`npm could not install Node ${major}. Its last lines:\n${lastLines(output)}`);
      await rename(join(folder, 'node_modules', program), join(folder, 'node'));
    },
    { signal },
  );
  return join(home, 'node', 'bin');
}
