import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Site } from '../../src/api/docs/guides.tsx';
import { useService } from '../support/service.ts';
import { foreignRequests, seriousFindings, useBrowser } from './browser.ts';

const service = useService({ roles: ['api'] });
const browser = useBrowser();

const PHONE = { width: 390, height: 844 };
const site = JSON.parse(readFileSync(join(import.meta.dirname, '../../dist/docs/site.json'), 'utf8')) as Site;
const urls = Object.keys(site.pages);

const search = async (page: Page, text: string) => {
  await page.keyboard.press('/');
  await page.keyboard.type(text);
  await page.locator('.found li').first().waitFor();
};

describe('/docs in a browser', () => {
  /** A list of pages, examples with pictures, tables, and a checklist. */
  it.each(['/docs', '/docs/overview', '/docs/receiving-webhooks', '/docs/production'])(
    'has nothing on %s that axe calls serious, in light and dark',
    async (url) => {
      const { page } = await browser.visit(service.url + url);
      expect(await seriousFindings(page)).toEqual([]);
    },
  );

  it('loads nothing from elsewhere, is not wider than a phone, and begins at its beginning', async () => {
    const visit = await browser.visit(`${service.url}/docs`);
    await visit.page.setViewportSize(PHONE);
    const wide: string[] = [];
    const scrolled: string[] = [];
    for (const url of urls) {
      await visit.page.goto(service.url + url);
      const width = await visit.page.evaluate('document.documentElement.scrollWidth');
      if (Number(width) > PHONE.width) wide.push(`${url}: ${width}`);
      if ((await visit.page.evaluate('scrollY')) !== 0) scrolled.push(url);
    }
    expect(wide).toEqual([]);
    expect(scrolled).toEqual([]);
    expect(visit.faults).toEqual([]);
    expect(foreignRequests(visit)).toEqual([]);
  });

  it.each([
    ['signature wrong', '/docs/troubleshooting#the-signature-never-matches'],
    ['409', '/docs/troubleshooting#409-503-and-no-response-at-all'],
    ['missing statement', '/docs/trust#is-a-statement-missing'],
    ['undo import', '/docs/withdrawals#undo-an-import'],
    ['restore backup', '/docs/runbook/backups#back-up-and-restore'],
    ['CSV profile', '/docs/formats/csv#profiles-of-this-project'],
    ['behind a firewall', '/docs/receiving/pull'],
    ['load balancer', '/docs/production#several-machines'],
    ['ALLOW_PRIVATE_ENDPOINTS', '/docs/configuration'],
    // In other words than those of the guides.
    ['pagination', '/docs/listing-movements#the-next-page'],
    ['quickstart', '/docs/overview#five-minutes'],
    ['dry run', '/docs/formats#try-a-file'],
  ])('finds the right page first for %s, with the keyboard alone', async (text, url) => {
    const { page } = await browser.visit(`${service.url}/docs`);
    await search(page, text);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(service.url + url);
  });

  it('shows the words around those that were found', async () => {
    const { page } = await browser.visit(`${service.url}/docs`);
    await search(page, 'load balancer');
    const excerpts = await page.locator('.found small').allTextContents();
    expect(excerpts[0]).toMatch(/^… .*load balancer.* …$/);
    expect(Math.max(...excerpts.map((it) => it.length))).toBeLessThan(170);
  });

  it('shows what is searched as text, and says when nothing is found', async () => {
    const { page } = await browser.visit(`${service.url}/docs?q=${encodeURIComponent('<img src=x>')}`);
    expect(await page.inputValue('#find')).toBe('<img src=x>');
    await page.fill('#find', 'qqqqzzzz');
    await page.getByText('Nothing was found').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.locator('#found').isVisible()).toBe(false);
  });

  it('searches for long and odd texts without stopping', async () => {
    const { page, faults } = await browser.visit(`${service.url}/docs`);
    await page.fill('#find', `${'a '.repeat(5_000)}${'('.repeat(5_000)}`);
    await page.locator('.found p').filter({ hasText: /found/ }).waitFor();
    expect(faults).toEqual([]);
  });

  it("puts the service's own address into examples, and copies them", async () => {
    const { page } = await browser.visit(`${service.url}/docs/overview`);
    const examples = await page.locator('main pre').allTextContents();
    expect(examples.join()).toContain(service.url);
    expect(examples.join()).not.toMatch(/(?:127\.0\.0\.1|localhost):3000/);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const example = page.locator('.example').first();
    await example.getByRole('button', { name: 'Copy' }).click();
    await example.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      await example.locator('pre').textContent(),
    );
  });

  it('leads old addresses of requests to the reference', async () => {
    const { page } = await browser.visit(`${service.url}/docs#/Webhooks/createWebhook`);
    await page.waitForURL(`${service.url}/docs/api#/Webhooks/createWebhook`);
  });
});
