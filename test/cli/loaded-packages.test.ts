import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createOperatorToken } from '../../src/platform/tokens.ts';
import { runCli } from './command.ts';

const directory = mkdtempSync(join(tmpdir(), 'ledgerbell-packages-'));
const LOADED_PACKAGES = join(directory, 'packages');
const NODE_OPTIONS = `--import=${new URL('../support/loaded-packages.fixture.mjs', import.meta.url)}`;
afterAll(() => rmSync(directory, { recursive: true }));

/** Packages that take a few milliseconds to load. Those of the database, the queues and the service take a second. */
const LIGHT = ['commander', 'valibot'];
const RETRIES = ['is-network-error', 'p-retry'];

const COMMANDS: [command: string, more: string[]][] = [
  ['--help', []],
  ['customers list', []],
  ['secrets --help', ['cli-progress', ...RETRIES]],
  ['status', []],
  ['operators tokens list', []],
  ['formats', []],
  ['listen', []],
  ['accounts list', []],
  ['deliveries list --webhook 1', []],
  ['imports list', []],
  ['keys list', []],
  ['movements list', []],
  ['replay --webhook 1 --since 2026-01-01', RETRIES],
  ['sources list', RETRIES],
  ['templates list', RETRIES],
  ['verify --customer 1', []],
  ['webhooks list', RETRIES],
  ['withdrawals list', []],
];

it.each(COMMANDS)('%s loads no package of the database, the queues or the service', async (command, more) => {
  writeFileSync(LOADED_PACKAGES, '');
  // Nothing answers at this address. The command is loaded completely before it sends a request.
  const address = 'http://127.0.0.1:1';
  const api = { LEDGERBELL_URL: address, LEDGERBELL_API_KEY: 'key' };
  const operators = { LEDGERBELL_OPS_URL: address, LEDGERBELL_OPERATOR_TOKEN: createOperatorToken() };
  const { stdout, stderr } = await runCli(command.split(' '), {
    ...api,
    ...operators,
    NODE_OPTIONS,
    LOADED_PACKAGES,
  });
  expect(stdout + stderr).toMatch(/Usage: |Nothing answers|webhook’s secret is missing|ISO 20022/);
  const loaded = new Set(readFileSync(LOADED_PACKAGES, 'utf8').trim().split('\n'));
  expect([...loaded].toSorted()).toEqual([...LIGHT, ...more].toSorted());
});
