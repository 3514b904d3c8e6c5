import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openWire, type Wire } from '../api/fuzz/exchange.ts';
import { requestsOf } from '../api/fuzz/requests.ts';
import { MARKER } from '../api/fuzz/values.ts';
import { useSourcesDir } from '../sources/folder-source.ts';
import { type Operation, readOperations } from '../support/operations.ts';
import { useOwnService } from '../support/service.ts';
import { NOWHERE } from '../support/subscriber.ts';
import { createWorld, type World } from '../support/world.ts';
import { asOperator, tokenOf } from './support.ts';

const RUNS = 50;
const SEED = 20_261_129;

const service = useOwnService({
  because: 'random ids are small numbers',
  roles: ['api', 'importer'],
  config: { sourcesDir: useSourcesDir() },
});

let token: string;
let world: World;
let operations: Operation[];
let wire: Wire;

beforeAll(async () => {
  token = await tokenOf(service, 'admin');
  const known = new Set((await readOperations(service)).map(({ name }) => name));
  operations = (await readOperations(service, { ofOperators: true })).filter(({ name }) => !known.has(name));
  const plan = { mark: 'Kendi', accounts: 1, movements: 1, issues: 1, webhooks: [], outcomes: [] };
  const made = await createWorld(service, plan);
  const { body } = await asOperator(service, token, 'POST', '/v1/operator-tokens', {
    body: { title: 'to be deleted', role: 'viewer' },
  });
  const template = {
    title: 'a',
    endpoint: NOWHERE,
    event: 'NEW_DEBIT',
    customers: { metadata: { of: 'none' } },
  };
  const templates = await asOperator(service, token, 'POST', '/v1/webhook-templates', { body: template });
  const ids = {
    customers: [made.customer.id],
    'operator-tokens': [String(body.operator_token.id)],
    'webhook-templates': [String(templates.body.webhook_template.id)],
  };
  world = { ...made, all: { ...made.all, ...ids } };
  wire = openWire(service.opsUrl);
});
afterAll(() => wire?.close());

it('a random request to an operation of operators is answered, and its problem repeats nothing of the request', async () => {
  expect(operations.length).toBeGreaterThan(10);
  for (const operation of operations) {
    const property = fc.asyncProperty(requestsOf(operation, world, NOWHERE), async ({ wire: request }) => {
      const others = request.headers.filter(([name]) => !/^auth/i.test(name));
      const headers = [
        ...others,
        ['Authorization', `Bearer ${token}`] as const,
        ['Ledgerbell-Customer', world.customer.id] as const,
      ];
      const { status, headers: answered, body } = await wire.exchange({ ...request, headers });
      expect(status).toBeLessThan(500);
      if (status < 400) return;
      expect(answered.get('content-type')).toBe('application/problem+json');
      expect(JSON.stringify({ headers: [...answered], body })).not.toContain(MARKER);
    });
    await fc.assert(property, { numRuns: RUNS, seed: SEED }).catch((error: Error) => {
      error.message = `${operation.name}: ${error.message}`;
      throw error;
    });
  }
}, 120_000);
