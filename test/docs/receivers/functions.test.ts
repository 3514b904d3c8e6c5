import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { movementHash } from '../../../src/delivery/posting/signature.ts';
import { createSigningWebhook, MOVEMENT } from './deliveries.ts';
import { findMissing } from './language.ts';
import { createProject, type Project } from './project.ts';

/** The first start of Go compiles its standard library. Milliseconds. */
const COMPILING = 300_000;

function usePage(page: string): { readonly project: Project } {
  let project: Project;
  beforeAll(async () => {
    project = await createProject(page, { form: false });
  });
  afterAll(() => project?.remove());
  return {
    get project() {
      return project;
    },
  };
}

describe('hash.md', () => {
  const page = usePage('hash.md');
  const API_SECRET = 's3cr3t-ğ';
  const { dc, code, amount, balance, currency, description } = MOVEMENT;
  const fields = [dc, code, amount, balance, currency, description].map((field) => field ?? '');

  it.for<[string, string, string[]]>([
    ['node', '--version', ['hash.mjs']],
    ['python3', '--version', ['hash.py']],
    ['php', '--version', ['hash.php']],
    ['go', 'version', ['run', 'hash.go']],
    ['java', '--version', ['Hash.java']],
  ])(
    'has a program for %s that prints the hash of a notification',
    { timeout: COMPILING },
    async ([program, version, args], { skip }) => {
      const { project } = page;
      const missing = await findMissing('hash.md', () => project.run(program, [version]));
      skip(missing !== null, missing ?? '');
      const printed = await project.run(program, [...args, ...fields], { API_SECRET, LC_ALL: 'C.UTF-8' });
      expect(printed.trim()).toBe(movementHash(MOVEMENT, API_SECRET, 'hex'));
    },
  );
});

/** Each reads { secret, headers, body } from its argument, and prints true or false. */
const CALLS = {
  node: [
    '--input-type=module',
    '--eval',
    `import { isGenuine } from './signature.mjs';
     const { secret, headers, body } = JSON.parse(process.argv.at(-1));
     console.log(isGenuine(secret, headers, Buffer.from(body)));`,
  ],
  python3: [
    '-c',
    `import json, sys
from signature import is_genuine
call = json.loads(sys.argv[-1])
print(str(is_genuine(call["secret"], call["headers"], call["body"].encode())).lower())`,
  ],
};

/** The libraries that form-encoding.md speaks of. */
describe('form-encoding.md', () => {
  it('describes what the npm library does with a form', () => {
    const webhook = createSigningWebhook({ encoding: 'form' });
    const { body, headers } = webhook.request('3-7');
    const library = new Webhook(webhook.secret);
    expect(() => library.verify(body, headers)).toThrow(SyntaxError);
    expect(() => library.verify(body, headers, { jsonParse: false })).not.toThrow();
    expect(() => library.verify(`${body}0`, headers, { jsonParse: false })).toThrow(WebhookVerificationError);
  });
});

describe.each(Object.entries(CALLS))('the program of by-hand.md for %s', (program, call) => {
  const page = usePage('by-hand.md');
  const webhook = createSigningWebhook();
  const check = async (change: { secret?: string; body?: string; headers?: object }, age = 0) => {
    const { headers, body } = webhook.request('3-7', age);
    const given = { secret: webhook.secret, body, ...change, headers: { ...headers, ...change.headers } };
    const env = { PYTHONPATH: '.', LC_ALL: 'C.UTF-8' };
    return (await page.project.run(program, [...call, JSON.stringify(given)], env)).trim();
  };

  it('tells genuine notifications from others', async ({ skip }) => {
    const missing = await findMissing('by-hand.md', () => page.project.run(program, ['--version']));
    skip(missing !== null, missing ?? '');
    expect(await check({})).toBe('true');
    const rotated = createSigningWebhook({ previous: webhook.secret }).request('3-7');
    expect(await check(rotated)).toBe('true');
    expect(await check({ body: '{}' })).toBe('false');
    expect(await check({ secret: createSigningWebhook().secret })).toBe('false');
    expect(await check({}, 302)).toBe('false');
    expect(await check({}, -305)).toBe('false');
    expect(await check({ headers: { 'webhook-id': 'msg_3-8' } })).toBe('false');
    expect(await check({ headers: { 'webhook-signature': 'v1' } })).toBe('false');
    expect(await check({ headers: { 'webhook-timestamp': 'now' } })).toBe('false');
  });
});
