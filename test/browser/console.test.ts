import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { createTemplate } from '../support/templates.ts';
import { CUSTOMER, createTrouble, DEAD_TITLE, type Trouble } from '../support/trouble.ts';
import { WRONG_FILE } from '../support/trouble-sources.ts';
import { until } from '../support/until.ts';
import { seriousFindings, useBrowser, type Visit } from './browser.ts';

const receiver = useReceiver();
const service = useOwnService({ because: 'the pages show all customers' });
const browser = useBrowser();
let trouble: Trouble;
let template: Awaited<ReturnType<typeof createTemplate>>;
let webhookOfTemplate: string;

beforeAll(async () => {
  trouble = await createTrouble(service, receiver);
  template = await createTemplate(service, { title: 'Herkes', endpoint: `${receiver.url}/template` });
  webhookOfTemplate = await template.webhookOf(trouble.customerId);
});

const foreign = ({ page, requests }: Visit) =>
  requests.filter((url) => !url.startsWith(`${new URL(page.url()).origin}/`) && !url.startsWith('data:'));

const visit = async (path: string) => {
  const isLive = !path.startsWith('/ops/queues');
  const visited = await browser.visit(service.opsUrl + path, { live: isLive });
  if (isLive) await visited.page.waitForSelector('html[data-live=yes]');
  return visited;
};

const PAGES: [name: string, path: () => string, shows: () => string[]][] = [
  [
    'now',
    () => '/ops',
    () => [CUSTOMER, DEAD_TITLE, 'Tell its owner', 'api, importer, delivery, maintenance'],
  ],
  ['webhooks', () => '/ops/webhooks', () => [DEAD_TITLE, 'circuit open', 'Depo']],
  [
    'a webhook',
    () => `/ops/webhooks/${trouble.webhooks.dead}`,
    () => ['Probe now', 'no healthy upstream <script>'],
  ],
  [
    'a template',
    () => `/ops/templates/${template.id}`,
    () => ['Herkes', CUSTOMER, 'With deliveries that are', 'Rotate the secret'],
  ],
  ['a webhook of a template', () => `/ops/webhooks/${webhookOfTemplate}`, () => ['Herkes', 'Send a test']],
  ['deliveries', () => '/ops/deliveries', () => ['delivered', 'pending']],
  [
    'a delivery',
    () => `/ops/deliveries/${trouble.webhooks.dead}-${trouble.movementIds[0]}`,
    () => ['Redeliver', 'webhook-signature: •••'],
  ],
  ['imports', () => '/ops/imports', () => ['failed', 'ndjson']],
  ['an import', () => `/ops/imports/${trouble.imports.rejected}`, () => ['rejected', 'amount']],
  [
    'the withdrawal of an import',
    () => `/ops/imports/${trouble.imports.rejected}/withdraw`,
    () => ['Reason', 'Withdraw 1 movement', 'cannot be undone'],
  ],
  [
    'a customer',
    () => `/ops/customers/${trouble.customerId}`,
    () => [CUSTOMER, DEAD_TITLE, 'What is wrong now', 'refused the password'],
  ],
  ['the search for movements', () => '/ops/movements', () => ['Enter the id of a customer.']],
  [
    'movements',
    () => `/ops/movements?customer=${trouble.customerId}`,
    () => [CUSTOMER, 'GB20260115-1', 'Download CSV'],
  ],
  ['books', () => '/ops/books', () => ['GB20260115-1', 'Store']],
  ['statements', () => `/ops/books/accounts/${trouble.accountId}`, () => ['Periods', 'Statements']],
  ['sources', () => '/ops/sources', () => ['Günlük ekstre', 'failing', 'wrong file']],
  [
    'a source',
    () => `/ops/sources/${trouble.sources.failing}`,
    () => ['Run now', 'has failed 3 times in a row', 'refused the password'],
  ],
  ['a source with a wrong file', () => `/ops/sources/${trouble.sources.wrongFile}`, () => [WRONG_FILE]],
  ['trace', () => '/ops/trace', () => ['unique_id']],
  [
    'a movement',
    () => `/ops/trace?movement=${trouble.movementIds[0]}`,
    () => ['Whom it concerned', 'failed 503'],
  ],
  ['audit', () => '/ops/audit', () => ['create', 'First key']],
  ['a question', () => `/ops/webhooks/${trouble.webhooks.dead}/pause`, () => ['Pause the webhook', 'Back']],
  ['a range', () => `/ops/webhooks/${trouble.webhooks.dead}/replay`, () => ['Count them']],
];

describe('the console in a browser', () => {
  it.each(PAGES)(
    'shows its data, breaks no accessibility rule in light or dark, fits a screen of 360 pixels, and asks no other host: %s',
    async (_name, path, shows) => {
      const visited = await visit(path());
      const { page, faults } = visited;
      const text = await page.locator('body').textContent();
      for (const shown of shows()) expect(text).toContain(shown);
      expect(await seriousFindings(page)).toEqual([]);
      await page.setViewportSize({ width: 360, height: 740 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
      expect(faults).toEqual([]);
      expect(foreign(visited)).toEqual([]);
      await page.close();
    },
  );

  it('never writes two labels of an axis alike', async () => {
    const { page } = await visit('/ops');
    const alike = await page.evaluate(`(async () => {
      const found = [];
      for (const most of [0, 0.4, 1, 3, 9, 45, 100, 150, 4_000, 100_000, 3_000_000]) {
        const names = CHARTS.filter(({ id }) => id !== 'success').flatMap(({ fields }) => fields);
        samples = [1, 2].map((at) => ({ at, ...Object.fromEntries(names.map((name) => [name, most])) }));
        drawAll();
        // A chart is drawn after the task that made it.
        await new Promise((resolve) => setTimeout(resolve));
        for (const { chart, plot } of plots) {
          const labels = plot.axes[1]._values;
          if (labels.length < 2 || new Set(labels).size < labels.length) found.push({ id: chart.id, most, labels });
        }
      }
      return found;
    })()`);
    expect(alike).toEqual([]);
  });

  it('writes the times of its charts in the zone of the page', async () => {
    const { page } = await visit('/ops');
    const noon = Date.UTC(2026, 0, 31, 12) / 1000;
    const labels = () => page.evaluate(`[${noon}, ${noon + 30}].map(clock)`);
    expect(await labels()).toEqual(['12:00', '12:00:30']);
    await page.getByRole('link', { name: 'show them in +03' }).click();
    await page.waitForLoadState();
    expect(await labels()).toEqual(['15:00', '15:00:30']);
    await page.close();
  });

  it('draws its charts, and keeps them up to date', async () => {
    const { page, faults } = await visit('/ops');
    const value = page.locator('#value-pending');
    await until('the number of pending deliveries', async () => /\d/.test((await value.textContent()) ?? ''));
    expect(await page.locator('.plot canvas').count()).toBe(6);
    const samples = () => page.evaluate('samples.length') as Promise<number>;
    const before = await samples();
    await until('two more samples', async () => (await samples()) >= before + 2);
    expect(faults).toEqual([]);
    await page.close();
  });

  it('says in the title of the tab that something is wrong, and updates it', async () => {
    const { page } = await visit('/ops');
    expect(await page.title()).toMatch(/^\(\d\) Not well/);
    await page.close();
  });

  it('replaces a part of the page while a link in it has the focus, and keeps the focus', async () => {
    const { page } = await visit('/ops');
    const link = page.locator('#now-headline a').first();
    const href = await link.getAttribute('href');
    await link.focus();
    await page.evaluate("document.querySelector('#now-headline h1').textContent = 'Old'");
    const headline = page.locator('#now-headline h1');
    await until('a new headline', async () => (await headline.textContent()) !== 'Old');
    expect(await page.evaluate("document.activeElement.getAttribute('href')")).toBe(href);
    await page.evaluate("replace('now-headline', '<h1>All is well.</h1>')");
    expect(await page.evaluate('document.activeElement.id')).toBe('now-headline');
    await page.close();
  });

  it('links to the queues, whose jobs have names and links back', async () => {
    const { dead } = trouble.webhooks;
    const { page, faults } = await visit(`/ops/webhooks/${dead}`);
    await page.getByRole('link', { name: 'in the queue' }).click();
    await page.waitForURL('**/ops/queues/queue/deliveries/**');
    await page.getByText(`webhook ${dead} · deliver`).first().waitFor();
    const back = page.locator(`a[href$="/ops/webhooks/${dead}"]`).first();
    await back.waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });
});

describe('a person with a keyboard', () => {
  /** Presses Tab until the element with this text has the focus. */
  async function tabTo(page: Page, text: string): Promise<void> {
    await until(`${text} has the focus`, async () => {
      await page.keyboard.press('Tab');
      return (await page.evaluate('document.activeElement?.textContent?.trim()')) === text;
    });
  }

  it('gets from the first page to a paused webhook', async () => {
    const { healthy } = trouble.webhooks;
    const { page } = await visit('/ops/webhooks');
    await tabTo(page, 'Skip to the content');
    await page.keyboard.press('Enter');
    await tabTo(page, `${healthy} Depo`);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/ops/webhooks/${healthy}`);
    await tabTo(page, 'Pause');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/pause');
    await tabTo(page, 'Pause the webhook');
    await page.keyboard.press('Enter');
    await page.waitForURL('**?done=pause');
    expect(await page.locator('[role=status]').textContent()).toBe(
      'The webhook is paused. Nothing more is sent.',
    );
    await tabTo(page, 'Enable');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/enable');
    await tabTo(page, 'Enable the webhook');
    await page.keyboard.press('Enter');
    await page.waitForURL('**?done=enable');
    await page.close();
  });

  it('gets from the list of sources to a run', async () => {
    const { wrongFile } = trouble.sources;
    const { page } = await visit('/ops/sources');
    await tabTo(page, `${wrongFile} Aylık ekstre`);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/ops/sources/${wrongFile}`);
    await tabTo(page, 'Run now');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/run');
    await tabTo(page, 'Run the source');
    await page.keyboard.press('Enter');
    await page.waitForURL('**?done=run');
    await page.close();
  });

  it('finds a movement by its unique_id from any page', async () => {
    const { page } = await visit('/ops/imports');
    await page.locator('#find').focus();
    await page.keyboard.type(trouble.uniqueId);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/ops/trace?movement=${trouble.movementIds[0]}`);
    await page.close();
  });
});
