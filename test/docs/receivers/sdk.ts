import type { Environment, Project, Started } from './project.ts';

const RECEIVER = new URL('../../../packages/typescript/src/receiver/index.ts', import.meta.url);

/** Starts a program that imports `@ledgerbell/sdk/receiver`, with this checkout's source in place of the package. */
export async function startWithSdk(project: Project, program: string, env: Environment): Promise<Started> {
  const folder = 'node_modules/@ledgerbell/sdk';
  const exports = { './receiver': './receiver.mjs' };
  await project.write(`${folder}/package.json`, JSON.stringify({ type: 'module', exports }));
  await project.write(`${folder}/receiver.mjs`, `export * from ${JSON.stringify(RECEIVER.href)};\n`);
  return project.start(process.execPath, ['--import', 'tsx', program], env);
}
