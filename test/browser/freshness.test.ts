import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { useServiceWithProblems } from '../console/server-problems.ts';
import { until } from '../support/until.ts';
import { useBrowser } from './browser.ts';

const on = useServiceWithProblems();
const browser = useBrowser();

const PAGES = ['/ops', '/ops/webhooks', '/ops/imports', '/ops/books', '/ops/audit'];

it('every open page says within 5 s that MySQL does not answer, and how old it is, and is fresh again afterwards', async () => {
  const visits = await Promise.all(
    PAGES.map(async (path) => {
      const { page } = await browser.visit(on.service.opsUrl + path, { live: true });
      await page.waitForSelector('html[data-live=yes]');
      return { path, page };
    }),
  );
  const textOf = async (page: Page, selector: string) =>
    (await page.locator(selector).first().textContent()) ?? '';
  const shown = (page: Page) => textOf(page, 'body');
  const begun = Date.now();
  on.servers.mysql.freeze();
  try {
    await Promise.all(
      visits.map(async ({ path, page }) => {
        await until(`${path} says it`, async () => /MySQL does not answer/.test(await shown(page)));
        // On a machine with other work, the browser itself may be late.
        expect(Date.now() - begun, path).toBeLessThan(20_000);
      }),
    );
    await Promise.all(
      visits
        .filter(({ path }) => path !== '/ops')
        .map(({ path, page }) =>
          until(`${path} is old`, async () => /as of [1-9]\d s ago/.test(await textOf(page, 'main h1'))),
        ),
    );
    const answer = await on.readPage('/ops/webhooks');
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('<h1>MySQL does not answer</h1>');
  } finally {
    on.servers.mysql.thaw();
  }
  await Promise.all(
    visits.map(({ path, page }) =>
      until(`${path} is fresh`, async () => {
        const text = await shown(page);
        return /All is well/.test(text) && !/as of \d+ s ago/.test(text);
      }),
    ),
  );
  await on.expectWell();
});
