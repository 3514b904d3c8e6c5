import { beforeAll, describe, expect, it } from 'vitest';
import { watchInstallation } from '../../src/console/now/now-page.tsx';
import { opsConsole } from '../../src/console/server.ts';
import { useSourcesDir } from '../sources/folder-source.ts';
import { dayStatement } from '../support/day-statement.ts';
import { importDone } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { send } from '../support/raw-http.ts';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { createTemplate } from '../support/templates.ts';
import { createTrouble, type Trouble } from '../support/trouble.ts';
import { insertWithdrawnFile } from '../support/withdrawn-files.ts';

const receiver = useReceiver();
const service = useOwnService({
  because: 'it has a folder for sources',
  config: { sourcesDir: useSourcesDir() },
});
let trouble: Trouble;
let made: Awaited<ReturnType<typeof createTemplate>>;
let statementId: string;
let withdrawnImportId: string;

beforeAll(async () => {
  trouble = await createTrouble(service, receiver);
  made = await createTemplate(service, { endpoint: `${receiver.url}/template` });
  await service.runtime.database.query(
    "INSERT INTO replays (customer_id, webhook_id, statuses, position, until_id) VALUES (?, ?, 'failed', 0, 1)",
    [trouble.customerId, trouble.webhooks.paused],
  );
  const { body } = await service.call('POST', `/v1/imports?account_id=${trouble.accountId}`, {
    key: trouble.key,
    body: dayStatement(5, 5, 500, [100]),
    type: 'application/octet-stream',
  });
  await importDone(service, trouble.key, body.import.id);
  const [statement] = await service.runtime.database.query<{ id: string }[]>('SELECT id FROM statements');
  statementId = statement?.id ?? '';
  withdrawnImportId = await insertWithdrawnFile(service.runtime.database, trouble.sources.paused);
});

interface Button {
  id: () => string;
  /** The action that is recorded; null: nothing is stored. */
  action: string | null;
  form?: Record<string, string>;
  /** For whom; the customer of the trouble by default. */
  customer?: () => string;
}

const dead = () => trouble.webhooks.dead;
const paused = () => trouble.sources.paused;
const template = () => made.id;
const operator = () => made.customerId;

/** Every form of the console, in an order in which each of them succeeds. */
const BUTTONS: Record<string, Button> = {
  '/webhooks/:id/probe': { id: dead, action: 'probe' },
  '/webhooks/:id/raise-limit': { id: dead, action: 'change' },
  '/webhooks/:id/test': { id: dead, action: null },
  '/webhooks/:id/replay': {
    id: dead,
    action: 'replay',
    form: { since: '2001-01-01 00:00:00', until: '', status: 'failed' },
  },
  '/webhooks/:id/replays/:replay_id/cancel': {
    id: () => trouble.webhooks.paused,
    action: 'cancel replay',
  },
  '/webhooks/:id/rotate-secret': { id: dead, action: 'rotate secret' },
  '/webhooks/:id/pause': { id: dead, action: 'change' },
  '/webhooks/:id/enable': { id: dead, action: 'change' },
  '/templates/:id/pause': { id: template, action: 'change', customer: operator },
  '/templates/:id/enable': { id: template, action: 'change', customer: operator },
  '/templates/:id/probe': { id: template, action: 'probe', customer: operator },
  '/templates/:id/raise-limit': { id: template, action: 'change', customer: operator },
  '/templates/:id/rotate-secret': { id: template, action: 'rotate secret', customer: operator },
  '/deliveries/:id/redeliver': {
    id: () => `${trouble.webhooks.healthy}-${trouble.movementIds[0]}`,
    action: 'redeliver',
  },
  '/statements/:id/withdraw': {
    id: () => statementId,
    action: 'withdraw',
    form: { reason: 'replaced' },
  },
  '/imports/:id/withdraw': {
    id: () => trouble.imports.rejected,
    action: 'withdraw',
    form: { reason: 'wrong file' },
  },
  '/imports/:id/collect-again': { id: () => withdrawnImportId, action: 'collect again' },
  '/imports/:id/retry': { id: () => trouble.imports.failed, action: 'retry' },
  '/books/conflicts/:id/store': { id: () => trouble.conflicts[0], action: 'store' },
  '/books/conflicts/:id/ignore': { id: () => trouble.conflicts[1], action: 'ignore' },
  '/sources/:id/run': { id: paused, action: 'run' },
  '/sources/:id/enable': { id: paused, action: 'change' },
  '/sources/:id/pause': { id: paused, action: 'change' },
};

it('the page of a withdrawn import leads to the page that has its source collect the file again', async () => {
  const shown = async (id: string) =>
    String((await service.callOps('GET', `/ops/imports/${id}`, { headers: { Accept: 'text/html' } })).body);
  const link = (id: string) => `href="/ops/imports/${id}/collect-again"`;
  expect(await shown(withdrawnImportId)).toContain(link(withdrawnImportId));
  const other = trouble.imports.rejected;
  expect(await shown(other)).not.toContain(link(other));
});

/** The replay is the first of the database. */
const pathOf = (route: string, { id }: Button) =>
  `/ops${route.replace(':id', id()).replace(':replay_id', '1')}`;

interface Event {
  source: string;
  actor: string;
  action: string;
  customer_id: string;
}

const readEvents = () =>
  service.runtime.database.query<Event[]>(
    'SELECT source, actor, action, customer_id FROM audit_events ORDER BY id',
  );

// A form that is added later fails here until it is in the list.
it('the tests of buttons cover every form of the console', () => {
  const { routes } = opsConsole(
    { runtime: service.runtime, findApi: () => undefined },
    watchInstallation(service.runtime),
  );
  const forms = routes.filter(({ method }) => !['GET', 'ALL'].includes(method)).map(({ path }) => path);
  expect(forms.sort()).toEqual(Object.keys(BUTTONS).sort());
});

describe('a page of another site', () => {
  it.each([{ Origin: 'https://evil.example' }, { Origin: 'null' }, { Origin: 'http://127.0.0.1:1' }])(
    'changes nothing: %j',
    async (headers) => {
      const before = await readEvents();
      for (const [route, button] of Object.entries(BUTTONS)) {
        const { host } = new URL(service.opsUrl);
        const answer = await send(service.opsUrl + pathOf(route, button), {
          method: 'POST',
          headers: { Host: host, ...headers },
        });
        expectProblem(answer, 403);
      }
      expect(await readEvents()).toEqual(before);
    },
  );

  it("is told apart from the console's own forms, because browsers are told to send their origin", async () => {
    const { headers } = await service.callOps('GET', `/ops/webhooks/${dead()}/pause`);
    expect(headers.get('referrer-policy')).toBe('same-origin');
  });
});

it.each(Object.entries(BUTTONS))(
  'an action by %s is recorded once, with who and for whom, if it changes something',
  async (route, button) => {
    const before = (await readEvents()).length;
    const { status, body } = await service.callOps('POST', pathOf(route, button), {
      body: new URLSearchParams(button.form).toString(),
      type: 'application/x-www-form-urlencoded',
      headers: { Accept: 'text/html', Origin: service.opsUrl },
    });
    expect([200, 303], String(body)).toContain(status);
    expect((await readEvents()).slice(before)).toEqual(
      button.action === null
        ? []
        : [
            {
              source: 'console',
              actor: '127.0.0.1',
              action: button.action,
              customer_id: button.customer?.() ?? trouble.customerId,
            },
          ],
    );
  },
);
