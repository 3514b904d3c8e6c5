import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { readCsv, readStoredTotal, totalOf } from '../support/csv.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { seriousFindings, useBrowser } from './browser.ts';

/** An accountant looks for a payment and exports a month, in a real browser. */

const service = useService({ roles: ['api', 'importer'] });
const browser = useBrowser();

async function createBooks() {
  const { api_key: key, customer } = await service.customer(`Muhasebe ${crypto.randomUUID()}`);
  const { id: accountId } = await createAccount(service, key, { title: 'Ana Hesap' });
  await importMovements(
    service,
    key,
    Array.from({ length: 130 }, (_, at) =>
      movement(accountId, {
        unique_id: `m-${at}`,
        dc: at % 3 === 0 ? 'Debit' : 'Credit',
        amount: at % 40 === 0 ? '1250.50' : `${at}.05`,
        balance: null,
        name: at === 80 ? 'Işık Elektrik, A.Ş.' : 'Depo',
        date_issue: at < 120 ? '2026-01-31' : '2026-02-01',
      }),
    ),
  );
  return { customer, accountId };
}

it('a payment is found by its amount and a part of the name, and an exported month has the right sum', async () => {
  const { customer } = await createBooks();
  const { page, faults } = await browser.visit(`${service.opsUrl}/ops/customers/${customer.id}`, {
    live: true,
  });
  await page.getByLabel(/^Find by/).fill('1250.50');
  await page.getByRole('button', { name: 'Find' }).click();
  await page.waitForURL('**/ops/movements?**amount=1250.50');
  expect(await page.locator('tbody tr').count()).toBe(4);
  await page.getByLabel('Words').fill('isik');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL('**q=isik**');
  expect(await page.locator('tbody tr').count()).toBe(1);
  await page.locator('td[data-label=Movement] a').click();
  await page.waitForURL('**/ops/trace?movement=*');
  expect(await page.locator('main').textContent()).toContain('m-80');

  await page.goBack();
  for (const label of ['Words', 'Amount']) await page.getByLabel(label, { exact: true }).fill('');
  await page.getByLabel('First day').fill('2026-01-01');
  await page.getByLabel('Last day').fill('2026-01-31');
  const downloaded = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download CSV' }).click();
  const download = await downloaded;
  expect(download.suggestedFilename()).toBe('movements-2026-01-01-2026-01-31.csv');
  const records = readCsv(await readFile(await download.path(), 'utf8'));
  const month = { customerId: customer.id, currency: 'TRY', first: '2026-01-01', last: '2026-01-31' };
  expect(totalOf(records)).toEqual(await readStoredTotal(service.runtime.database, month));
  expect(records).toHaveLength(120);

  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL('**ends=2026-01-31**');
  await page.getByRole('link', { name: 'Next' }).click();
  await page.waitForURL('**cursor=**');
  expect(await page.locator('tbody tr').count()).toBe(20);
  expect(faults).toEqual([]);
  await page.close();
});

it('a mistake stands beside its field, and breaks no accessibility rule', async () => {
  const { customer } = await createBooks();
  const { page } = await browser.visit(
    `${service.opsUrl}/ops/movements?customer=${customer.id}&amount=1,5,5`,
    {
      live: true,
    },
  );
  const field = page.getByLabel(/^Amount must be an amount such as 1250/);
  expect(await field.inputValue()).toBe('1,5,5');
  expect(await seriousFindings(page)).toEqual([]);
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
  await page.close();
});
