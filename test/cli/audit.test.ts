import { userInfo } from 'node:os';
import { expect, it } from 'vitest';
import { useRunningService } from './running-service.ts';

const running = useRunningService(13);

it('records what is done by the command line, with the name of the user', async () => {
  const webhook = await running.createWebhook('/audited');
  await running.asOperator('webhooks', 'pause', webhook);
  const events = await running.database.query<{ action: string; subject: string }[]>(
    'SELECT source, actor, action, subject, detail FROM audit_events ORDER BY id',
  );
  const by = { source: 'command line', actor: userInfo().username };
  expect(events).toEqual([
    { ...by, action: 'create', subject: `customer ${running.customer.id}`, detail: 'Örnek' },
    { ...by, action: 'create', subject: 'account 1', detail: 'Ana, TRY' },
    {
      ...by,
      action: 'create',
      subject: `webhook ${webhook}`,
      detail: expect.stringMatching(/^NEW_TRANSACTION to /),
    },
    { ...by, action: 'change', subject: `webhook ${webhook}`, detail: 'status: paused' },
  ]);
});
