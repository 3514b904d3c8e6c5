import { writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/platform/config.ts';
import { createWebhookSecret } from '../../../src/webhooks/webhooks.ts';

const URL = 'https://alerts.example/in?token=geheim';
const secret = createWebhookSecret();

describe("the operator's webhook", () => {
  it('is configured by a URL and a secret, directly or from files', async () => {
    expect(readConfig({ OPS_WEBHOOK_URL: URL, OPS_WEBHOOK_SECRET: secret }).opsWebhook).toEqual({
      url: URL,
      secret,
    });
    const directory = await mkdtemp(join(tmpdir(), 'lb-ops-webhook-'));
    const files = { url: join(directory, 'url'), secret: join(directory, 'secret') };
    writeFileSync(files.url, `${URL}\n`);
    writeFileSync(files.secret, `${secret}\n`);
    const env = { OPS_WEBHOOK_URL_FILE: files.url, OPS_WEBHOOK_SECRET_FILE: files.secret };
    expect(readConfig(env).opsWebhook).toEqual({ url: URL, secret });
  });

  it.each([
    [{ OPS_WEBHOOK_URL: URL }, /^OPS_WEBHOOK_URL and OPS_WEBHOOK_SECRET go together/],
    [{ OPS_WEBHOOK_SECRET: secret }, /^OPS_WEBHOOK_URL and OPS_WEBHOOK_SECRET go together/],
    [
      { OPS_WEBHOOK_URL: 'ftp://alerts.example', OPS_WEBHOOK_SECRET: secret },
      /^OPS_WEBHOOK_URL must be an http/,
    ],
    [
      { OPS_WEBHOOK_URL: 'https://me:geheim@alerts.example', OPS_WEBHOOK_SECRET: secret },
      /^OPS_WEBHOOK_URL must be/,
    ],
    [{ OPS_WEBHOOK_URL: URL, OPS_WEBHOOK_SECRET: 'geheim' }, /^OPS_WEBHOOK_SECRET must be "whsec_"/],
    [{ OPS_WEBHOOK_URL: URL, OPS_WEBHOOK_SECRET: 'whsec_geheim' }, /^OPS_WEBHOOK_SECRET must be "whsec_"/],
  ])('is refused without showing its values: %j', (env, message) => {
    expect(() => readConfig(env)).toThrow(message);
    expect(() => readConfig(env)).not.toThrow(/geheim/);
  });
});
