import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { useSourcesDir } from '../sources/folder-source.ts';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { createTrouble, type Trouble } from '../support/trouble.ts';
import { until } from '../support/until.ts';
import { useBrowser } from './browser.ts';

const receiver = useReceiver();
const service = useOwnService({
  because: 'it has a folder for sources',
  config: { sourcesDir: useSourcesDir() },
});
const browser = useBrowser();
let trouble: Trouble;

beforeAll(async () => {
  trouble = await createTrouble(service, receiver);
});

const visit = (path: string) => browser.visit(service.opsUrl + path, { live: true });

describe('a person with a mouse', () => {
  /** Clicks the link, and then the button of the page that asks. */
  async function confirm(page: Page, link: string, button: string): Promise<void> {
    await page.getByRole('link', { name: link, exact: true }).first().click();
    await page.getByRole('button', { name: button, exact: true }).click();
    await page.waitForLoadState();
  }

  it('gets from the sentence at the top to the failing webhook, and probes it', async () => {
    const { dead } = trouble.webhooks;
    const { page, faults } = await visit('/ops');
    await page
      .getByRole('link', { name: `Webhook ${dead}`, exact: true })
      .first()
      .click();
    await page.waitForURL(`**/ops/webhooks/${dead}`);
    const before = receiver.at('/dead').length;
    await confirm(page, 'Probe now', 'Probe now');
    await page.waitForURL('**?done=probe');
    await until('the probe has arrived', () => receiver.at('/dead').length > before);
    expect(faults).toEqual([]);
    await page.close();
  });

  it('rotates a secret, and sees the new one', async () => {
    const { page } = await visit(`/ops/webhooks/${trouble.webhooks.healthy}`);
    await confirm(page, 'Rotate the secret', 'Replace the secret');
    expect(await page.locator('.secret').textContent()).toMatch(/^whsec_/);
    await page.close();
  });

  it('sends a test, replays, redelivers, and retries an import', async () => {
    const { healthy } = trouble.webhooks;
    const { page, faults } = await visit(`/ops/webhooks/${healthy}`);
    await confirm(page, 'Send a test', 'Send a test');
    expect(await page.locator('h1').textContent()).toBe('The endpoint answered 200.');
    await page.goto(`${service.opsUrl}/ops/webhooks/${healthy}`);
    await page.getByRole('link', { name: 'Replay', exact: true }).click();
    await page.getByLabel('Status').selectOption('delivered');
    await page.getByRole('button', { name: 'Count them' }).click();
    await page.getByRole('button', { name: 'Send them again' }).click();
    await page.waitForURL('**?done=replay');
    await page.goto(`${service.opsUrl}/ops/deliveries/${healthy}-${trouble.movementIds[0]}`);
    await confirm(page, 'Redeliver', 'Send it again');
    await page.waitForURL('**?done=redeliver');
    await page.goto(`${service.opsUrl}/ops/imports/${trouble.imports.failed}`);
    await confirm(page, 'Retry', 'Retry the import');
    await page.waitForURL('**?done=retry');
    expect(faults).toEqual([]);
    await page.close();
  });

  it('gets from the sentence at the top to a failing source, runs another source, pauses and enables it', async () => {
    const { failing, wrongFile } = trouble.sources;
    const { page, faults } = await visit('/ops');
    await page
      .getByRole('link', { name: `Source ${failing}`, exact: true })
      .first()
      .click();
    await page.waitForURL(`**/ops/sources/${failing}`);
    await page.goto(`${service.opsUrl}/ops/sources/${wrongFile}`);
    await confirm(page, 'Run now', 'Run the source');
    await page.waitForURL('**?done=run');
    await until('the run is listed', async () => {
      await page.goto(`${service.opsUrl}/ops/sources/${wrongFile}`);
      return (await page.locator('[data-label=Run]').count()) > 2;
    });
    await confirm(page, 'Pause', 'Pause the source');
    await page.waitForURL('**?done=pause');
    await confirm(page, 'Enable', 'Enable the source');
    await page.waitForURL('**?done=enable');
    expect(faults).toEqual([]);
    await page.close();
  });

  it('pauses and enables a webhook', async () => {
    const { healthy } = trouble.webhooks;
    const { page, faults } = await visit(`/ops/webhooks/${healthy}`);
    await confirm(page, 'Pause', 'Pause the webhook');
    await page.waitForURL('**?done=pause');
    await confirm(page, 'Enable', 'Enable the webhook');
    await page.waitForURL('**?done=enable');
    expect(faults).toEqual([]);
    await page.close();
  });

  it('withdraws an import with a reason, and sees the withdrawal', async () => {
    const { page, faults } = await visit(`/ops/imports/${trouble.imports.rejected}`);
    await page.getByRole('link', { name: 'Withdraw', exact: true }).click();
    await page.getByLabel('Reason').fill('wrong file');
    await page.getByRole('button', { name: 'Withdraw 1 movement', exact: true }).click();
    await page.waitForURL('**?done=withdraw');
    await page.locator('[data-label=Status]', { hasText: 'done' }).waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  it('uses the filters', async () => {
    const { page } = await visit('/ops/deliveries');
    await page.getByLabel('Webhook id').fill(trouble.webhooks.dead);
    await page.getByLabel('Status').selectOption('pending');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL('**status=pending**');
    expect(await page.locator('tbody tr').count()).toBeGreaterThan(0);
    await page.close();
  });
});

describe('a page of another site in the same browser', () => {
  it('can send a form to the console, but that changes nothing', async () => {
    const { dead } = trouble.webhooks;
    receiver.answer('/evil', (_received, response) => {
      response
        .setHeader('content-type', 'text/html')
        .end(
          `<form method="post" action="${service.opsUrl}/ops/webhooks/${dead}/pause"><button>Win</button></form>`,
        );
    });
    const { page } = await browser.visit(`${receiver.url}/evil`);
    const answered = page.waitForResponse('**/pause');
    await page.getByRole('button').click();
    expect((await answered).status()).toBe(403);
    const { body } = await service.call('GET', `/v1/webhooks/${dead}`, { key: trouble.key });
    expect(body.webhook.status).toBe('active');
    await page.close();
  });
});
