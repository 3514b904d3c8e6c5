import { beforeAll, describe, expect, it } from 'vitest';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { createTrouble, MATCHED, type Trouble } from '../support/trouble.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';

const receiver = useReceiver();
const service = useOwnService({ because: 'the pages show all customers' });
let trouble: Trouble;

beforeAll(async () => {
  trouble = await createTrouble(service, receiver);
});

const get = async (path: string) =>
  String((await service.callOps('GET', path, { headers: { Accept: 'text/html' } })).body);

/** Sends a form as the console's own page does. */
const press = (path: string, form: Record<string, string> = {}) =>
  service.callOps('POST', path, {
    body: new URLSearchParams(form).toString(),
    type: 'application/x-www-form-urlencoded',
    headers: { Accept: 'text/html', Origin: service.opsUrl },
  });

const webhookOf = async (id: string) =>
  (await service.call('GET', `/v1/webhooks/${id}`, { key: trouble.key })).body.webhook;

const startOf = async (id: string): Promise<string | null> =>
  (await service.call('GET', `/v1/imports/${id}`, { key: trouble.key })).body.import.started_at;

interface Event {
  source: string;
  actor: string;
  action: string;
  subject: string;
}
const newestEvent = async () => {
  const [event] = await service.runtime.database.query<Event[]>(
    'SELECT source, actor, action, subject FROM audit_events ORDER BY id DESC LIMIT 1',
  );
  return event;
};

const byConsole = (action: string, subject: string) => ({
  source: 'console',
  actor: '127.0.0.1',
  action,
  subject,
});

describe('a change in the console', () => {
  it('asks for confirmation, and says what will happen and how many deliveries it concerns', async () => {
    const { dead, healthy } = trouble.webhooks;
    expect(await get(`/ops/webhooks/${dead}/pause`)).toContain(`${MATCHED} pending deliveries are kept`);
    expect(await get(`/ops/webhooks/${dead}/probe`)).toContain(`One of its ${MATCHED} pending deliveries`);
    expect(await get(`/ops/webhooks/${healthy}/rotate-secret`)).toContain('shown once');
    expect((await webhookOf(dead)).status).toBe('active');
  });

  it('pauses and enables a webhook, and sends its pending deliveries', async () => {
    const { healthy } = trouble.webhooks;
    const paused = await press(`/ops/webhooks/${healthy}/pause`);
    expect([paused.status, paused.headers.get('location')]).toEqual([
      303,
      `/ops/webhooks/${healthy}?done=pause`,
    ]);
    expect((await webhookOf(healthy)).status).toBe('paused');
    expect(await newestEvent()).toEqual(byConsole('change', `webhook ${healthy}`));
    expect(await get(`/ops/webhooks/${healthy}?done=pause`)).toContain('The webhook is paused.');
    expect(await get(`/ops/webhooks/${healthy}`)).toContain('127.0.0.1 (console) has paused it.');
    expect((await press(`/ops/webhooks/${healthy}/enable`)).status).toBe(303);
    expect((await webhookOf(healthy)).status).toBe('active');
  });

  it('rotates a secret, and shows it once', async () => {
    const { healthy } = trouble.webhooks;
    const { status, body, headers } = await press(`/ops/webhooks/${healthy}/rotate-secret`);
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    const [secret = ''] = /whsec_[A-Za-z0-9+/=]+/.exec(String(body)) ?? [];
    expect(secret).not.toBe('');
    expect(await get(`/ops/webhooks/${healthy}`)).not.toContain(secret);
    expect(await newestEvent()).toEqual(byConsole('rotate secret', `webhook ${healthy}`));
  });

  it('sends a test, and shows the answer', async () => {
    const { dead, healthy } = trouble.webhooks;
    expect(String((await press(`/ops/webhooks/${healthy}/test`)).body)).toContain(
      'The endpoint answered 200',
    );
    expect(String((await press(`/ops/webhooks/${dead}/test`)).body)).toContain('The endpoint answered 503');
    receiver.answer('/silent', (_received, response) => void response.destroy());
    const silent = await subscribe(service, trouble.key, `${receiver.url}/silent`);
    expect(String((await press(`/ops/webhooks/${silent.id}/test`)).body)).toContain(
      '<h1>No answer: UND_ERR_SOCKET: the endpoint closed the connection without an answer.</h1>',
    );
    const plain = await subscribe(service, trouble.key, receiver.url.replace('http:', 'https:'));
    expect(String((await press(`/ops/webhooks/${plain.id}/test`)).body)).toContain(
      '<h1>No answer: ERR_SSL_WRONG_VERSION_NUMBER: the endpoint does not speak TLS on this port.</h1>',
    );
  });

  it('sends a delivery again', async () => {
    const id = `${trouble.webhooks.healthy}-${trouble.movementIds[0]}`;
    const before = receiver.at('/healthy').length;
    expect(await get(`/ops/deliveries/${id}/redeliver`)).toContain('gets it a second time');
    expect((await press(`/ops/deliveries/${id}/redeliver`)).status).toBe(303);
    expect(await newestEvent()).toEqual(byConsole('redeliver', `delivery ${id}`));
    await until('it was sent again', () =>
      receiver
        .at('/healthy')
        .slice(before)
        .some(({ headers }) => headers['webhook-id'] === `msg_${id}`),
    );
  });

  it('replays a range after it has said how many deliveries it holds', async () => {
    const { healthy } = trouble.webhooks;
    const range = { since: '2001-01-01 00:00:00', until: '', status: 'delivered' };
    await until(
      'the redelivery is recorded',
      async () => (await webhookOf(healthy)).deliveries.delivered === MATCHED,
    );
    expect(await get(`/ops/webhooks/${healthy}/replay`)).toContain('Count them');
    const question = await get(`/ops/webhooks/${healthy}/replay?${new URLSearchParams(range)}`);
    expect(question).toContain(`Send ${MATCHED} deliveries`);
    const none = { ...range, until: '2001-01-02 00:00:00' };
    const nothing = await get(`/ops/webhooks/${healthy}/replay?${new URLSearchParams(none)}`);
    expect(nothing).toContain('Nothing is sent.');
    expect(nothing).not.toContain('Send them again');
    // A form without the field that is needed is the sender's mistake.
    expect((await press(`/ops/webhooks/${healthy}/replay`, { until: '' })).status).toBe(422);
    const before = receiver.at('/healthy').length;
    const { status, headers } = await press(`/ops/webhooks/${healthy}/replay`, range);
    expect([status, headers.get('location')]).toEqual([303, `/ops/webhooks/${healthy}?done=replay`]);
    expect(await newestEvent()).toEqual(byConsole('replay', `webhook ${healthy}`));
    await until('all were sent again', () => receiver.at('/healthy').length >= before + MATCHED);
  });

  it('probes an endpoint before its circuit is half-open, and sends everything once it answers', async () => {
    const { dead } = trouble.webhooks;
    const before = receiver.at('/dead').length;
    expect((await press(`/ops/webhooks/${dead}/probe`)).status).toBe(303);
    expect(await newestEvent()).toEqual(byConsole('probe', `webhook ${dead}`));
    await until('a probe', () => receiver.at('/dead').length > before);
    await until('the circuit is open again', async () => (await webhookOf(dead)).health.circuit === 'open');
    const waiting = await get(`/ops/deliveries/${dead}-${trouble.movementIds[0]}?done=redeliver`);
    expect(waiting).toContain('It waits, because the circuit of the endpoint is open.');
    receiver.answer('/dead', (_received, response) => void response.end('ok'));
    await press(`/ops/webhooks/${dead}/probe`);
    await until(
      'the endpoint has answered',
      async () => (await webhookOf(dead)).health.failing_since === null,
    );
  });

  it('retries a failed import', async () => {
    const { failed } = trouble.imports;
    expect(await get(`/ops/imports/${failed}/retry`)).toContain('usually fails for the same reason');
    expect(await get(`/ops/imports/${failed}/retry`)).toContain('continues after row 0');
    const firstStart = await startOf(failed);
    expect((await press(`/ops/imports/${failed}/retry`)).status).toBe(303);
    expect(await newestEvent()).toEqual(byConsole('retry', `import ${failed}`));
    await until('it has failed again', async () => {
      const start = await startOf(failed);
      return start !== null && start !== firstStart;
    });
    const again = await press(`/ops/imports/${failed}/retry`);
    expect(again.status).toBe(409);
    expect(String(again.body)).toContain('Only a failed import can be retried');
  });

  it('is listed with who, when and what, the newest first', async () => {
    const page = await get('/ops/audit?source=console');
    expect(page).toContain('rotate secret');
    expect(page).not.toContain('<td data-label="Where">api');
    const subject = `webhook ${trouble.webhooks.healthy}`;
    const own = await get(`/ops/audit?subject=${encodeURIComponent(subject)}&customer=${trouble.customerId}`);
    const actions = [...own.matchAll(/data-label="Action">([^<]*)</g)].map(([, action]) => action);
    expect(actions).toEqual(['replay', 'rotate secret', 'change', 'change', 'create']);
  });
});
