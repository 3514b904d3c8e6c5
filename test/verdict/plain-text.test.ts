import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { ROLES, readConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { startService } from '../../src/service.ts';
import { documentOf, runHere } from '../cli/command.ts';
import { newDataDir } from '../support/data-dir.ts';
import { useDatabase } from '../support/database.ts';
import { parseExposition } from '../support/exposition.ts';
import { useRedisDatabase } from '../support/redis-database.ts';
import { until } from '../support/until.ts';

/** What is said of an operators' listener that takes passwords in plain text, also by commands that do not have its configuration. */

const environment = {
  PORT: '0',
  DATA_DIR: newDataDir(),
  DATABASE_URL: useDatabase().url,
  REDIS_URL: useRedisDatabase(),
  SECRET_KEY: randomBytes(32).toString('base64'),
};
const admin = { ADMIN_USER: 'ops', ADMIN_PASSWORD: 'twelve-letters' };
const headers = { Authorization: `Basic ${btoa('ops:twelve-letters')}`, accept: 'text/html' };
const SENTENCE =
  "Operators' tokens and passwords cross the network in plain text, because OPS_HOST is 0.0.0.0 and there is no TLS.";

async function start(variables: Record<string, string>) {
  const config = readConfig({ ...environment, ...admin, OPS_HOST: '0.0.0.0', OPS_PORT: '0', ...variables });
  const service = await startService({
    config,
    roles: ROLES,
    log: createLog('silent'),
    announce: () => {},
  });
  onTestFinished(() => service.stop());
  const get = async (path: string) => (await fetch(`${service.opsUrl}${path}`, { headers })).text();
  return { get, stop: service.stop };
}

const status = async () => documentOf(await runHere(['status', '--json'], environment));

it('passwords in plain text are a warning on all ways that somebody looks at it, until a proxy encrypts', async () => {
  const open = await start({});
  expect(await status()).toMatchObject({
    status: 'well',
    problems: [],
    troubles: [
      { kind: 'ops_plain_text', scope: 'installation', severity: 'warning', count: 1, sentence: SENTENCE },
    ],
  });
  const { stdout, code } = await runHere(['status'], environment);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^The service is well; operators' tokens and passwords cross the network in plain text\.\n/,
  );
  expect(stdout).toContain(`\nwarning: ${SENTENCE}\n  Set OPS_TLS_CERT_FILE and OPS_TLS_KEY_FILE, or OPS_`);
  const page = await open.get('/ops');
  expect(page).toContain('<section class="headline warning">');
  expect(page.replaceAll('&#39;', "'")).toContain(SENTENCE);
  await until('the metric', async () => {
    const { samples } = parseExposition(await open.get('/metrics'));
    return samples.get('ledgerbell_troubles{kind="ops_plain_text",scope="installation"}') === 1;
  });
  await open.stop();

  const behind = await start({ OPS_BEHIND_TLS: 'true' });
  expect(await status()).toMatchObject({ status: 'well', troubles: [] });
  expect(await behind.get('/ops')).toContain('All is well');
});
