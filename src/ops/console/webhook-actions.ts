import type { Confirmation } from './confirm-page.tsx';
import type { WebhookRow } from './webhook-rows.ts';
import { countOf } from './wording.ts';

/** What can be done with a webhook from the console, except for a replay, which asks for a range first. */
export const WEBHOOK_ACTIONS = ['pause', 'enable', 'probe', 'test', 'rotate-secret'] as const;
export type WebhookAction = (typeof WEBHOOK_ACTIONS)[number];

/** What each button says. */
export const ACTION_LABELS: Readonly<Record<WebhookAction | 'replay', string>> = {
  pause: 'Pause',
  enable: 'Enable',
  probe: 'Probe now',
  test: 'Send a test',
  'rotate-secret': 'Rotate the secret',
  replay: 'Replay',
};

/** The actions that make sense for a webhook in its state, the most likely one first. */
export function actionsFor({ status, failing_since, open_until }: WebhookRow): (WebhookAction | 'replay')[] {
  switch (status) {
    case 'deleted':
      return [];
    case 'paused':
    case 'disabled':
      return ['enable', 'test', 'rotate-secret', ...(status === 'paused' ? (['replay'] as const) : [])];
    case 'active':
      return [
        ...(failing_since !== null || open_until !== null ? (['probe'] as const) : []),
        'test',
        'replay',
        'pause',
        'rotate-secret',
      ];
  }
}

/** Asks whether an action is meant, and says what it does. */
export function confirmAction(action: WebhookAction, it: WebhookRow): Omit<Confirmation, 'back'> {
  const name = `webhook ${it.id} “${it.title}” of ${it.customer}`;
  const pending = countOf(Number(it.pending), 'pending delivery', 'pending deliveries');
  switch (action) {
    case 'pause':
      return {
        question: `Pause ${name}?`,
        consequences: [
          `Nothing more is sent to ${it.endpoint}.`,
          `Its ${pending} are kept, new movements are added to them, and all are sent when it is enabled again.`,
        ],
        button: 'Pause the webhook',
        dangerous: true,
      };
    case 'enable':
      return {
        question: `Enable ${name}?`,
        consequences: [
          `Its ${pending} are sent to ${it.endpoint}, beginning now with a single one.`,
          'The health of the endpoint is reset.',
          ...(it.status === 'disabled'
            ? ['Movements that were stored while it was disabled are not sent. The customer can list them.']
            : []),
        ],
        button: 'Enable the webhook',
      };
    case 'probe':
      return {
        question: `Send one notification for ${name} now?`,
        consequences: [
          `One of its ${pending} is sent to ${it.endpoint} now, instead of at the next probe.`,
          'If it is answered with success, more follow: 2, 4, 8 … at a time. If not, the circuit opens again, for longer.',
        ],
        button: 'Probe now',
      };
    case 'test':
      return {
        question: `Send a test notification for ${name}?`,
        consequences: [
          `A sample with the header webhook-test: true is sent to ${it.endpoint} now. No delivery changes.`,
        ],
        button: 'Send a test',
      };
    case 'rotate-secret':
      return {
        question: `Replace the secret of ${name}?`,
        consequences: [
          'The new secret is shown once, on the next page. The customer needs it to verify signatures.',
          'For 24 hours, the previous secret signs too. After that, a receiver without the new secret refuses every notification.',
        ],
        button: 'Replace the secret',
        dangerous: true,
      };
  }
}

/** What has been done, as it is said on the page of the webhook afterwards. */
export const DONE: Readonly<Record<string, string>> = {
  pause: 'The webhook is paused. Nothing more is sent.',
  enable: 'The webhook is enabled. The first notification is on its way.',
  probe: 'A probe is on its way. Reload this page to see its answer.',
  replay: 'The replay is accepted. Its deliveries become pending one after the other.',
};
