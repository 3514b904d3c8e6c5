import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment, Project, Started } from './project.ts';

const SDK = new URL('../../../packages/sdk/src/', import.meta.url);

/** Lets programs in a folder import `@ledgerbell/sdk` and `@ledgerbell/sdk/receiver`, with this checkout's source in place of the package. They need tsx. */
export async function installSdk(folder: string): Promise<void> {
  const sdk = join(folder, 'node_modules/@ledgerbell/sdk');
  await mkdir(sdk, { recursive: true });
  const exports = { '.': './index.mjs', './receiver': './receiver.mjs' };
  await writeFile(join(sdk, 'package.json'), JSON.stringify({ type: 'module', exports }));
  for (const [file, source] of Object.entries({ index: 'index.ts', receiver: 'receiver/index.ts' }))
    await writeFile(
      join(sdk, `${file}.mjs`),
      `export * from ${JSON.stringify(new URL(source, SDK).href)};\n`,
    );
}

export async function startWithSdk(project: Project, program: string, env: Environment): Promise<Started> {
  await installSdk(project.directory);
  return project.start(process.execPath, ['--import', 'tsx', program], env);
}
