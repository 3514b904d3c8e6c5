import { describe } from 'vitest';
import { describeReceiver } from '../docs/receivers/contract.ts';

const RECEIVER = new URL('../../packages/typescript/src/receiver/index.ts', import.meta.url);

/** The programs of the package's README keep the promises of the pages' receivers. */
describe.each(['node.mjs', 'express.mjs', 'hono.mjs', 'fastify.mjs'])('%s', (program) => {
  describeReceiver({
    page: '../../packages/typescript/README.md',
    encodings: ['json'],
    async start(project, env) {
      const folder = 'node_modules/@ledgerbell/sdk';
      const exports = { './receiver': './receiver.mjs' };
      await project.write(`${folder}/package.json`, JSON.stringify({ type: 'module', exports }));
      await project.write(`${folder}/receiver.mjs`, `export * from ${JSON.stringify(RECEIVER.href)};\n`);
      return project.start(process.execPath, ['--import', 'tsx', program], env);
    },
  });
});
