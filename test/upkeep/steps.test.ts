import { expect, it } from 'vitest';
import { createLog } from '../../src/platform/log.ts';
import { runSteps } from '../../src/upkeep/worker.ts';

it('a step of the reconciler that fails does not keep the others from running', async () => {
  const ran: string[] = [];
  const step = (name: string) => async () => void ran.push(name);
  const failing = async () => {
    throw new Error('this step fails');
  };
  await runSteps({ first: step('first'), failing, last: step('last') }, createLog('silent'));
  expect(ran).toEqual(['first', 'last']);
});
