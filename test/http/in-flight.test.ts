import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { limitInFlight } from '../../src/http/admission.ts';
import { type ApiEnv, answerError } from '../../src/http/app.ts';
import { createLog } from '../../src/platform/log.ts';

/** An app whose requests end when the test says so. The customer is the path. */
function createTestApp() {
  const app = new Hono<ApiEnv>();
  const ends: (() => void)[] = [];
  app.onError((error, c) => answerError(error, c, createLog('silent')));
  app.use(
    '/:customer',
    limitInFlight(4, () => 'all'),
  );
  app.use(
    '/:customer',
    limitInFlight(3, (c) => c.req.path),
  );
  app.get('/:customer', async (c) => {
    await new Promise<void>((resolve) => ends.push(resolve));
    return c.text('done');
  });
  // The client has the whole answer as soon as it is made.
  const env = { outgoing: { closed: true } };
  return { ask: (customer: string) => app.request(`/${customer}`, {}, env), ends };
}

const nextPass = () => new Promise(setImmediate);

it('a process limits the requests in progress, in all and of one customer, and answers 503 beyond the limits', async () => {
  const { ask, ends } = createTestApp();
  const first = Array.from({ length: 3 }, () => ask('a'));
  await nextPass();
  const refused = await ask('a');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.json()).toMatchObject({ type: '/problems/busy' });

  const other = ask('b');
  await nextPass();
  expect((await ask('c')).status).toBe(503);
  ends.shift()?.();
  expect((await first[0])?.status).toBe(200);
  const next = ask('c');
  await nextPass();
  for (const end of ends) end();
  expect((await Promise.all([...first, other, next])).map(({ status }) => status)).toEqual([
    200, 200, 200, 200, 200,
  ]);
});
