import { beforeAll, expect, it } from 'vitest';
import { runDeletions } from '../../../src/upkeep/deletions.ts';
import { requestAccountDeletion, requestCustomerDeletion } from '../../../src/upkeep/request-deletion.ts';
import { createSteps } from '../../../src/upkeep/retention/steps.ts';
import { type ExplainedStep, explainOwn, findScans } from '../../support/explain.ts';
import { useOwnService } from '../../support/service.ts';
import { addCrowd } from '../retention/crowd.ts';
import { createFull } from './full-customer.ts';

const service = useOwnService({ because: 'MySQL plans by the size of the tables', roles: ['api'] });

type Full = Awaited<ReturnType<typeof createFull>>;
let first: Full;
let second: Full;

beforeAll(async () => {
  first = await createFull(service);
  second = await createFull(service);
  await first.store(300);
  await second.store(300);
  await addCrowd(service.runtime.database);
});

/** Deletions are read as a whole, in the order in which they were requested. */
const SMALL = ['deletions'];

/** Without the statement by which delivery runs read the state of a webhook, too: it is not about deletions. */
const ownSteps = (steps: readonly ExplainedStep[]) =>
  steps.filter(({ statement }) => !statement.includes('AS retry_in'));

it('every statement of the deletion of an account walks an index', async () => {
  const { customerId, accountId } = first;
  const { result, steps } = await explainOwn(service.runtime.config.databaseUrl, async (database) => {
    await requestAccountDeletion(database, { customerId, accountId }, async () => {});
    return runDeletions({ ...service.runtime, database }, createSteps({ pauses: false }));
  });
  expect(result).toBe(1);
  expect(steps.length).toBeGreaterThan(40);
  expect(findScans(ownSteps(steps), SMALL)).toEqual([]);
});

it('every statement of the deletion of a customer walks an index', async () => {
  const { result, steps } = await explainOwn(service.runtime.config.databaseUrl, async (database) => {
    await requestCustomerDeletion(database, second.customerId, async () => {});
    return runDeletions({ ...service.runtime, database }, createSteps({ pauses: false }));
  });
  expect(result).toBe(1);
  expect(steps.length).toBeGreaterThan(40);
  expect(findScans(ownSteps(steps), SMALL)).toEqual([]);
});
