import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNT_IBAN, dayStatement } from '../support/day-statement.ts';
import { createAccount, importDone, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { createTrouble, type Trouble } from '../support/trouble.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';
import { useBrowser } from './browser.ts';

/** Of days: number, opening balance and entries. One is missing. */
const STATEMENTS: [number, number, number[]][] = [
  [1, 25_000, [1_250, -349.9]],
  [2, 25_900.1, [-7_250]],
  [4, 20_450.1, [980, -45]],
];

const FOLDER = join(import.meta.dirname, '../../docs/images');

/** Makes the pictures of the documentation: `npm run screenshots`. Not part of a test run, because a test run changes no file. */
describe.runIf(process.env.SCREENSHOTS === 'true')('screenshots', () => {
  const receiver = useReceiver();
  const service = useService();
  const browser = useBrowser();
  let trouble: Trouble;
  let account: string;

  beforeAll(async () => {
    mkdirSync(FOLDER, { recursive: true });
    trouble = await createTrouble(service, receiver);
    const { api_key: key } = await service.customer('Kardelen Market');
    account = (await createAccount(service, key, { iban: ACCOUNT_IBAN })).id;
    for (const [number, opening, amounts] of STATEMENTS) {
      const body = dayStatement(number, number + 1, opening, amounts);
      const answer = await service.call('POST', '/v1/imports', {
        key,
        body,
        type: 'application/octet-stream',
      });
      await importDone(service, key, answer.body.import.id);
    }
  });

  const PAGES: [name: string, path: () => string][] = [
    ['webhook', () => `/ops/webhooks/${trouble.webhooks.dead}`],
    ['delivery', () => `/ops/deliveries/${trouble.webhooks.dead}-${trouble.movementIds[0]}`],
    ['trace', () => `/ops/trace?movement=${trouble.movementIds[0]}`],
    ['source', () => `/ops/sources/${trouble.sources.failing}`],
    ['customer', () => `/ops/customers/${trouble.customerId}`],
    ['movements', () => `/ops/movements?customer=${trouble.customerId}&starts=2026-01-01`],
    ['books', () => '/ops/books'],
    ['statements', () => `/ops/books/accounts/${account}`],
  ];

  it.each(PAGES)('show the page %s', async (name, path) => {
    const { page } = await browser.visit(service.opsUrl + path());
    await page.screenshot({ path: join(FOLDER, `console-${name}.png`), fullPage: true });
    await page.close();
  });

  it.each([
    ['desktop', { width: 1280, height: 800 }],
    ['phone', { width: 390, height: 780 }],
  ])('show the guides on a %s, in at most 200 KB', async (name, size) => {
    const { page } = await browser.visit(`${service.url}/docs/receiving/javascript`);
    await page.setViewportSize(size);
    const picture = await page.screenshot({ path: join(FOLDER, `docs-${name}.png`) });
    expect(picture.length).toBeLessThanOrEqual(200_000);
    await page.close();
  });

  it('show the page now', async () => {
    // Something to see in the charts: movements of a second customer, whose endpoint takes its time.
    const { api_key: key } = await service.customer('Yıldız Lojistik');
    const { id } = await createAccount(service, key);
    receiver.answer('/slow', (_received, response) => {
      setTimeout(() => response.end('ok'), 20 + Math.random() * 200);
    });
    await subscribe(service, key, `${receiver.url}/slow`, { title: 'ERP' });
    const { page } = await browser.visit(`${service.opsUrl}/ops`, { live: true });
    const samples = () => page.evaluate('samples.length') as Promise<number>;
    for (let made = 0; (await samples()) < 16; made += 1) {
      const wanted = await samples();
      await importMovements(
        service,
        key,
        Array.from({ length: 10 + ((made * 7) % 30) }, () =>
          movement(id, { unique_id: crypto.randomUUID() }),
        ),
      );
      await until('the next sample', async () => (await samples()) > wanted);
    }
    await page.screenshot({ path: join(FOLDER, 'console-now.png'), fullPage: true });
    await page.close();
  });
});
