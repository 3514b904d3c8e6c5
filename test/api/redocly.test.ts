import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

const REDOCLY = fileURLToPath(new URL('../../node_modules/.bin/redocly', import.meta.url));

/** The recommended rules warn of a wrong example of a body, and do not look at the examples of schemas. */
const RULES = `
extends: [recommended]
rules:
  no-invalid-media-type-examples: error
  no-invalid-parameter-examples: error
  no-invalid-schema-examples: error
`;

it('Redocly reports nothing about the OpenAPI document with all recommended rules, and about examples', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ledgerbell-openapi-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'openapi.json');
  await writeFile(path, JSON.stringify((await service.call('GET', '/openapi.json')).body));
  await writeFile(join(folder, 'redocly.yaml'), RULES);
  const { stdout } = await promisify(execFile)(REDOCLY, ['lint', path, '--format=json'], {
    cwd: folder,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  }).catch((error: { stdout: string }) => error);
  expect(JSON.parse(stdout).problems).toEqual([]);
});
