import { describeReceiver } from '../docs/receivers/contract.ts';
import { startWithSdk } from '../docs/receivers/sdk.ts';

/** The program of the package's README keeps the promises of the pages' receivers. */
describeReceiver({
  page: '../../packages/sdk/README.md',
  readsBoth: true,
  start: (project, env) => startWithSdk(project, 'node.mjs', env),
});
