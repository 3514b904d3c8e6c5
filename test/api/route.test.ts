import { describe, expect, it } from 'vitest';
import { type Operation, readOperations } from '../support/operations.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

const address = ({ path }: Operation): string => path.replaceAll(/\{\w+\}/g, '1');

describe('every route under /v1', () => {
  it('refuses an unknown query parameter, and names it', async () => {
    const { api_key: key } = await service.customer();
    const operations = (await readOperations(service)).filter(({ path }) => path.startsWith('/v1/'));
    expect(operations.length).toBeGreaterThan(25);
    for (const operation of operations) {
      const { method } = operation;
      const answer = await service.call(method, `${address(operation)}?nonsense=1`, {
        key,
        body: method === 'GET' ? undefined : {},
      });
      expect([operation.name, expectProblem(answer, 422)]).toEqual([operation.name, ['nonsense']]);
    }
  });
});

describe('an answer that holds a secret', () => {
  it('must not be cached', async () => {
    const { api_key: key } = await service.customer();
    const webhook = { title: 'x', endpoint: 'http://127.0.0.1:9/', event: 'NEW_DEBIT', account: 'all' };
    const created = await service.call('POST', '/v1/webhooks', { key, body: webhook });
    const answers = [
      created,
      await service.call('POST', `/v1/webhooks/${created.body.webhook.id}/rotate-secret`, { key }),
      await service.call('POST', '/v1/apikeys', { key, body: { title: 'x', account: 'all' } }),
      await service.call('GET', '/v1/settings/api', { key }),
      await service.call('POST', '/v1/settings/api/rotate', { key }),
    ];
    expect(answers.map(({ status, headers }) => [status, headers.get('cache-control')])).toEqual(
      answers.map(() => [200, 'no-store']),
    );
  });
});
