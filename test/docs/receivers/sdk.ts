import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment, Project, Started } from './project.ts';

const RECEIVER = new URL('../../../packages/sdk/src/receiver/index.ts', import.meta.url);

/** Lets programs in a folder import `@ledgerbell/sdk/receiver`, with this checkout's source in place of the package. They need tsx. */
export async function installSdk(folder: string): Promise<void> {
  const sdk = join(folder, 'node_modules/@ledgerbell/sdk');
  await mkdir(sdk, { recursive: true });
  const exports = { './receiver': './receiver.mjs' };
  await writeFile(join(sdk, 'package.json'), JSON.stringify({ type: 'module', exports }));
  await writeFile(join(sdk, 'receiver.mjs'), `export * from ${JSON.stringify(RECEIVER.href)};\n`);
}

export async function startWithSdk(project: Project, program: string, env: Environment): Promise<Started> {
  await installSdk(project.directory);
  return project.start(process.execPath, ['--import', 'tsx', program], env);
}
