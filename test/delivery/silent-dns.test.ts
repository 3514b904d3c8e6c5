import { beforeAll, expect, it } from 'vitest';
import { createPoster } from '../../src/delivery/posting/post.ts';
import { createAddressGuard } from '../../src/platform/address-guard.ts';
import { createResolver } from '../../src/platform/addresses/resolver.ts';
import { createDnsWatch } from '../../src/platform/dns-watch.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useNameServer } from '../support/name-server.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { cursorOf } from '../support/subscriber.ts';
import { until } from '../support/until.ts';
import { attemptsOf, deliveriesOf, subscribe, useDeliveryWorkers } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer'] });
const receiver = useReceiver();
const server = useNameServer();
const workers = useDeliveryWorkers(service);

/** The last answer was a minute ago. Lookups that fail wait for each other for 10 s, which is long enough for a slow machine. */
let ahead = 0;
const dns = createDnsWatch({
  now: () => ahead + performance.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
});
const letAMinutePass = () => {
  ahead += 60_000;
};
letAMinutePass();

beforeAll(() => {
  const resolve = createResolver({ servers: [server.address], timeout: 300, onAnswer: dns.answered });
  workers.start({
    dns,
    poster: createPoster({ guard: createAddressGuard({ allow: ['127.0.0.0/8'], resolve }) }),
  });
});

/** A webhook whose endpoint has a name of the server. The API resolves names by the DNS of the machine, and would refuse it. */
async function subscribeTo(name: string, key: string, fields: object = {}) {
  const { port } = new URL(receiver.url);
  const { id } = await subscribe(service, key, `${receiver.url}/${name}`, fields);
  const { database } = service.runtime;
  await database.query('UPDATE webhooks SET endpoint = ? WHERE id = ?', [
    `http://${name}:${port}/${name}`,
    id,
  ]);
  return id;
}

const names = ['one.example', 'two.example', 'three.example'];

it('silent DNS servers use up no attempt, open no circuit and hold up an ordered webhook no longer than they are silent', async () => {
  const webhooks: { id: string; store: () => Promise<unknown> }[] = [];
  for (const name of names) {
    const { api_key: key } = await service.customer();
    const { id: accountId } = await createAccount(service, key);
    const id = await subscribeTo(name, key, { ordered: true });
    webhooks.push({ id, store: () => importMovements(service, key, [movement(accountId)]) });
  }
  for (const name of names) server.zones.set(name, 'silence');
  await Promise.all(webhooks.map(({ store }) => store()));
  await until('DNS is known to be silent', () => dns.problem() !== null);
  // Several rounds of runs.
  const asked = server.asked.length;
  await until('names are asked for again', () => server.asked.length > asked + 4);
  for (const { id } of webhooks) {
    expect(await attemptsOf(service, id)).toEqual([]);
    expect(await cursorOf(service, id)).toMatchObject({ consecutive_failures: 0, failing_since: null });
  }
  for (const name of names) server.zones.set(name, { a: ['127.0.0.1'] });
  await until('all is delivered', async () => {
    const rows = await Promise.all(webhooks.map(({ id }) => deliveriesOf(service, id)));
    return rows.flat().filter(({ status }) => status === 'delivered').length === names.length;
  });
  expect(dns.problem()).toBeNull();
  for (const { id } of webhooks)
    expect((await deliveriesOf(service, id)).map(({ attempts }) => attempts)).toEqual([1]);
});

it('a name whose own servers are silent is a matter of its endpoint, while others are answered', async () => {
  const { api_key: key } = await service.customer();
  const { id: accountId } = await createAccount(service, key);
  server.zones.set('well.example', { a: ['127.0.0.1'], ttl: 0 });
  const id = await subscribeTo('own.example', key);
  const well = await subscribeTo('well.example', key);
  server.zones.set('own.example', 'silence');
  letAMinutePass();
  await importMovements(service, key, [movement(accountId)]);
  await until('it has failed', async () => {
    // The resolver keeps an answer for a second at least.
    await importMovements(service, key, [movement(accountId, { unique_id: `${performance.now()}` })]);
    return (await attemptsOf(service, id)).length > 0;
  });
  expect((await attemptsOf(service, id))[0]).toMatchObject({ outcome: 'failed' });
  await until('the other is delivered', async () =>
    (await deliveriesOf(service, well)).some(({ status }) => status === 'delivered'),
  );
});
