import { expect, it } from 'vitest';
import { createAddressGuard } from '../../src/delivering/address-guard.ts';
import { createPoster } from '../../src/delivering/post.ts';
import { createPump } from '../../src/delivering/pump.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { subscribe } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer'] });
const receiver = useReceiver();

it('looks once more after it has laid itself to sleep: a wake-up just before that is lost, its movement is not', async () => {
  const { api_key: key } = await service.customer();
  const { id: accountId } = await createAccount(service, key);
  const { id } = await subscribe(service, key, `${receiver.url}/sleep`);
  // Only this one is delayed: the endpoint itself is well.
  receiver.answer('/sleep', (_, response) => void response.writeHead(422).end());
  const owe = (unique_id: string) => importMovements(service, key, [movement(accountId, { unique_id })]);
  await owe('first');

  const { database, secrets, log } = service.runtime;
  const poster = createPoster({ guard: createAddressGuard({ allow: ['127.0.0.0/8'] }) });
  const wakes: number[] = [];
  const wake = async (_: string, delay: number) => {
    // Committed before the job that is added now, which takes the place of the one that it had been given.
    if (wakes.length === 0) await owe('second');
    wakes.push(delay);
  };
  const pump = createPump({ database, secrets, poster, log, wake });
  await pump.run(id, new AbortController().signal);
  pump.close();
  await poster.close();

  const [sleep = 0, ...later] = wakes;
  expect(sleep).toBeGreaterThan(1_000);
  expect(later).toEqual([0]);
});
