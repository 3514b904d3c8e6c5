import { expect, it } from 'vitest';
import { chooseConfig } from '../../../src/cli/demo/demo-config.ts';
import { readConfig } from '../../../src/platform/config.ts';

it('the demo listens for operators on OPS_PORT', async () => {
  const config = readConfig({ PORT: '0', OPS_PORT: '3977' });
  expect((await chooseConfig(config, 'demo')).opsPort).toBe(3977);
});
