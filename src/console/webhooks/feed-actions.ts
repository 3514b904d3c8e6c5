import { Problem } from '../../platform/problem.ts';
import { countOf } from '../../platform/text.ts';
import type { WebhookRecord } from '../../webhook-record/record.ts';
import type { Confirmation } from '../page/layout.tsx';
import { nameOf, nounOf } from './explain-webhook.ts';

/** The actions that an operator has for a feed. */

/** Nothing is sent or signed, so that there is nothing to probe, and no secret to replace. */
const FEED_ACTIONS = ['pause', 'enable', 'test'] as const;
type FeedAction = (typeof FEED_ACTIONS)[number];

/** Refuses an action that only a webhook with an endpoint has. @throws {Problem} 409. */
export function requireFeedAction(action: string): FeedAction {
  const found = FEED_ACTIONS.find((it) => it === action);
  if (found === undefined) throw pulled();
  return found;
}

/** The actions that make sense in a feed's state, the most likely first. */
export function actionsForFeed(status: WebhookRecord['status']): (FeedAction | 'replay')[] {
  if (status === 'deleted') return [];
  return status === 'active' ? ['test', 'replay', 'pause'] : ['enable', 'test', 'replay'];
}

/** Asks for confirmation of an action on a feed, and explains its effect. */
export function confirmFeedAction(action: FeedAction, it: WebhookRecord): Omit<Confirmation, 'back'> {
  const [name, noun] = [nameOf(it), nounOf(it)];
  const pending = countOf(Number(it.pending), 'pending delivery', 'pending deliveries');
  switch (action) {
    case 'pause':
      return {
        question: `Pause ${name}?`,
        consequences: [
          'Its feed is empty until it is enabled again.',
          `Its ${pending} and new movements wait until then.`,
        ],
        button: `Pause the ${noun}`,
        dangerous: true,
      };
    case 'enable':
      return {
        question: `Enable ${name}?`,
        consequences: [`Its feed has its ${pending}, and new movements.`],
        button: `Enable the ${noun}`,
      };
    case 'test':
      return {
        question: `Put a sample into the feed of ${name}?`,
        consequences: [
          'It is the next event of the feed, and its id begins with msg_test_. No delivery changes.',
        ],
        button: 'Put a sample into the feed',
      };
  }
}

/** The answer to an action that only a webhook with an endpoint has. */
export const pulled = () =>
  new Problem('pulled-webhook', 'The events of this webhook are pulled, so nothing is sent.');

/** The messages on the webhook's page after an action. */
export const DONE_OF_FEED: Readonly<Record<string, string>> = {
  pause: 'The webhook is paused. Its feed is empty until it is enabled.',
  enable: 'The webhook is enabled. Its reader gets events again.',
  replay: 'The feed has moved back. Its reader gets the events again.',
};
