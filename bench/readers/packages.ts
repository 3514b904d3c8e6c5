import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The folder in which the packages are installed. They are not in the project's package.json. */
const FOLDER = join(import.meta.dirname, '../../node_modules/.cache/readers');

/** Installs packages of npm, each as name@version. @returns the folder with their modules. */
export async function installPackages(packages: readonly string[]): Promise<string> {
  console.log(`npm installs ${packages.join(', ')} into node_modules/.cache/readers`);
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'package.json'), '{ "private": true }\n');
  const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', FOLDER];
  await promisify(execFile)('npm', ['install', ...options, ...packages], { cwd: FOLDER });
  return join(FOLDER, 'node_modules');
}
