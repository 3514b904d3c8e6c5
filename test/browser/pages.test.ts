import { describe, expect, it } from 'vitest';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { foreignRequests, useBrowser, type Visit } from './browser.ts';

const service = useService({ roles: ['api'] });
const browser = useBrowser();

/** Opens the reference, and enters the API key of a new customer. */
async function openAuthorized(): Promise<Visit> {
  const { api_key: key } = await service.customer();
  const visit = await browser.visit(`${service.url}/docs/api`);
  const { page } = visit;
  await page.locator('button.authorize').first().click();
  await page.locator('.auth-container input').first().fill(key);
  await page.locator('.auth-btn-wrapper button.authorize').first().click();
  await page.locator('button.btn-done').first().click();
  return visit;
}

describe('/docs/api in a browser', () => {
  it('shows every operation, can be opened, and loads nothing from elsewhere', async () => {
    const visit = await browser.visit(`${service.url}/docs/api`);
    const { page, faults } = visit;
    await page.waitForSelector('.opblock', { timeout: 120_000 });
    const { body } = await service.call('GET', '/openapi.json');
    const all = { ...body.paths, ...body.webhooks };
    const operations = Object.values<object>(all).flatMap((methods) => Object.keys(methods));
    expect(await page.locator('.opblock').count()).toBe(operations.length);
    const create = page.locator('.opblock-post', { hasText: 'Create a webhook' });
    await create.locator('.opblock-summary-control').click();
    await create.locator('.opblock-body').waitFor();
    expect(await create.textContent()).toContain('NEW_TRANSACTION');
    expect(faults).toEqual([]);
    expect(foreignRequests(visit)).toEqual([]);
  });

  it('tries out a request with the key that was entered', async () => {
    const { page, faults } = await openAuthorized();
    const banks = page.locator('.opblock-get', { hasText: 'List your banks' });
    await banks.locator('.opblock-summary-control').click();
    await banks.locator('button.execute').click();
    const answer = banks.locator('.live-responses-table .response-col_status').last();
    await answer.waitFor();
    expect(await answer.textContent()).toContain('200');
    expect(faults).toEqual([]);
  });
});

describe('/docs/api with its header', () => {
  it('sends two POSTs with different idempotency keys, although the example is one', async () => {
    const { page, faults } = await openAuthorized();
    const create = page.locator('.opblock-post', { hasText: 'Create an API key' });
    await create.locator('.opblock-summary-control').click();
    const keys: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') keys.push(request.headers()['idempotency-key']);
    });
    for (const count of [1, 2]) {
      await create.locator('button.execute').click();
      await until('it is sent', () => keys.length === count);
      await create.locator('.live-responses-table .response-col_status').last().waitFor();
    }
    expect(new Set(keys).size).toBe(2);
    expect(keys.every((it) => it !== undefined && it !== '')).toBe(true);
    expect(faults.filter((it) => !it.includes('422'))).toEqual([]);
  });

  it('shows examples of filters, and sends none of them unasked', async () => {
    const { page } = await browser.visit(`${service.url}/docs/api`);
    const list = page.locator('.opblock-get', { hasText: 'List movements' }).first();
    await list.locator('.opblock-summary-control').click();
    const row = list.locator('tr[data-param-name="opponent_iban"]');
    await row.waitFor();
    expect(await row.textContent()).toContain('Example: TR');
    expect(await row.locator('input').inputValue()).toBe('');
  });

  it('has the search of the guides, and the colours that the reader prefers', async () => {
    const { page } = await browser.visit(`${service.url}/docs/api`, { dark: true });
    await page.waitForSelector('.opblock', { timeout: 120_000 });
    expect(await page.evaluate('document.documentElement.className')).toContain('dark-mode');
    await page.fill('#find', 'undo import');
    await page.locator('.found a').first().click();
    await page.waitForURL(`${service.url}/docs/withdrawals#undo-an-import`);
  });
});

describe('/ops/queues in a browser', () => {
  it('shows every queue, without any way to change a queue', async () => {
    const visit = await browser.visit(`${service.opsUrl}/ops/queues`);
    const { page, faults } = visit;
    for (const name of ['imports', 'deliveries', 'sources']) {
      await page.getByText(name, { exact: true }).first().waitFor();
    }
    await page.getByText('imports', { exact: true }).first().click();
    await page.waitForURL('**/ops/queues/queue/imports*');
    await page.waitForLoadState('networkidle');
    expect(faults).toEqual([]);
    expect(foreignRequests(visit)).toEqual([]);
  });
});
