import { expect, it } from 'vitest';
import { TESTS_PER_MINUTE } from '../../src/api/routes/webhooks.ts';
import { expectProblem } from '../support/problem.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { NOWHERE } from '../support/subscriber.ts';
import { subscribe } from '../support/webhooks.ts';

const service = useService({ roles: ['api'] });
const receiver = useReceiver();
const other = useReceiver();

const sendTest = (key: string, id: string) => service.call('POST', `/v1/webhooks/${id}/test`, { key });

it('the API refuses a customer more than ten test notifications in a minute, across all webhooks and endpoints', async () => {
  const { api_key: key } = await service.customer();
  const first = await subscribe(service, key, `${other.url}/first`);
  const second = await subscribe(service, key, NOWHERE);
  for (let sent = 1; sent < TESTS_PER_MINUTE; sent += 1) {
    expect((await sendTest(key, first.id)).status).toBe(202);
  }
  expect((await sendTest(key, second.id)).body.test).toEqual({ status_code: null, error: 'no answer' });
  for (const { id } of [first, second]) {
    const refused = await sendTest(key, id);
    expectProblem(refused, 429, 'too-many-tests');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(10);
  }
  expect(other.at('/first')).toHaveLength(TESTS_PER_MINUTE - 1);
});

it('the API sends an endpoint at most ten test notifications in a minute, across all customers and paths', async () => {
  const answers: number[] = [];
  for (const path of ['/a', '/b', '/c']) {
    const { api_key: key } = await service.customer();
    const { id } = await subscribe(service, key, receiver.url + path);
    for (let sent = 0; sent < 5; sent += 1) answers.push((await sendTest(key, id)).status);
  }
  expect(answers.filter((status) => status === 202)).toHaveLength(TESTS_PER_MINUTE);
  expect(receiver.received).toHaveLength(TESTS_PER_MINUTE);
});

it('the API does not tell why a connection failed, because that would show what listens on a port', async () => {
  const { api_key: key } = await service.customer();
  const silent = await subscribe(service, key, NOWHERE);
  receiver.answer('/hang-up', (_received, response) => response.destroy());
  const { id } = await subscribe(service, key, `${other.url}/hang-up`);
  other.answer('/hang-up', (_received, response) => response.destroy());
  const refused = await sendTest(key, silent.id);
  expect((await sendTest(key, id)).body).toEqual(refused.body);
});
