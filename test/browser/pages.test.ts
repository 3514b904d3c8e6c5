import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount, largeImport } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { webhook } from '../support/webhooks.ts';
import { useBrowser, type Visit } from './browser.ts';

const service = useService({ roles: ['api'] });
const browser = useBrowser();

/** Requests to anything but the service itself; what the page holds in itself (data:) is none. */
const foreign = ({ page, requests }: Visit) =>
  requests.filter((url) => !url.startsWith(`${new URL(page.url()).origin}/`) && !url.startsWith('data:'));

beforeAll(async () => {
  const { api_key: key } = await service.customer('Şahin Tekstil A.Ş.');
  const { id } = await createAccount(service, key);
  await service.call('POST', '/v1/imports', { key, body: largeImport(id) });
  const titles = ['Muhasebe <b>kapalı</b>', 'Depo'];
  for (const title of titles) {
    await service.call('POST', '/v1/webhooks', { key, body: webhook({ title, account: id }) });
  }
  const { database } = service.runtime;
  await database.query("UPDATE webhooks SET status = 'paused' WHERE title = 'Depo'");
  await database.query(
    `UPDATE webhook_cursors SET failing_since = NOW(6) - INTERVAL 1 DAY, consecutive_failures = 7,
      circuit_open_until = NOW(6) + INTERVAL 90 SECOND, last_error = '503 Service Unavailable'
     WHERE webhook_id = (SELECT id FROM webhooks WHERE title <> 'Depo')`,
  );
  await database.query('UPDATE webhook_backlogs SET matched_count = 4711');
});

describe('/docs in a browser', () => {
  it('shows every operation, can be opened, and loads nothing from elsewhere', async () => {
    const visit = await browser.visit(`${service.url}/docs`);
    const { page, faults } = visit;
    await page.waitForSelector('.opblock');
    const { body } = await service.call('GET', '/openapi.json');
    const all = { ...body.paths, ...body.webhooks };
    const operations = Object.values<object>(all).flatMap((methods) => Object.keys(methods));
    expect(await page.locator('.opblock').count()).toBe(operations.length);
    const create = page.locator('.opblock-post', { hasText: 'Create a webhook' });
    await create.locator('.opblock-summary-control').click();
    await create.locator('.opblock-body').waitFor();
    expect(await create.textContent()).toContain('NEW_TRANSACTION');
    expect(faults).toEqual([]);
    expect(foreign(visit)).toEqual([]);
  });

  it('tries a request out with the key that was entered', async () => {
    const { api_key: key } = await service.customer();
    const { page, faults } = await browser.visit(`${service.url}/docs`);
    await page.locator('button.authorize').first().click();
    await page.locator('.auth-container input').first().fill(key);
    await page.locator('.auth-btn-wrapper button.authorize').first().click();
    await page.locator('button.btn-done').first().click();
    const banks = page.locator('.opblock-get', { hasText: 'List your banks' });
    await banks.locator('.opblock-summary-control').click();
    await banks.locator('button.execute').click();
    const answer = banks.locator('.live-responses-table .response-col_status').last();
    await answer.waitFor();
    expect(await answer.textContent()).toContain('200');
    expect(faults).toEqual([]);
  });
});

describe('/ops in a browser', () => {
  it.each([false, true])('shows what needs attention, text as text (dark: %s)', async (dark) => {
    const visit = await browser.visit(`${service.opsUrl}/ops`, { dark });
    const { page, faults } = visit;
    const text = await page.locator('body').textContent();
    for (const shown of [
      'imports',
      'deliveries',
      'maintenance',
      'Muhasebe <b>kapalı</b>',
      'Şahin Tekstil A.Ş.',
      'circuit open for',
      'after 7 failures in a row',
      '4711',
      'Webhooks needing attention',
      '503 Service Unavailable',
      'paused',
      'queued',
    ]) {
      expect(text).toContain(shown);
    }
    expect(faults).toEqual([]);
    expect(foreign(visit)).toEqual([]);
  });

  it('fits a narrow screen', async () => {
    const { page } = await browser.visit(`${service.opsUrl}/ops`);
    await page.setViewportSize({ width: 400, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(400);
  });

  it('leads to the queues, by name, with no way to change them', async () => {
    const visit = await browser.visit(`${service.opsUrl}/ops`);
    const { page, faults } = visit;
    await page.getByRole('link', { name: 'Queues' }).click();
    for (const name of ['imports', 'deliveries', 'maintenance']) {
      await page.getByText(name, { exact: true }).first().waitFor();
    }
    expect(new URL(page.url()).pathname).toBe('/ops/queues');
    await page.getByText('imports', { exact: true }).first().click();
    await page.waitForURL('**/ops/queues/queue/imports*');
    await page.waitForLoadState('networkidle');
    expect(faults).toEqual([]);
    expect(foreign(visit)).toEqual([]);
  });
});
