import { Problem } from '../http/problem.ts';
import type { Sendable } from './request-redelivery.ts';

/** The 409 for a webhook whose deliveries cannot be requested again. */
export function notSendable(status: Exclude<Sendable, 'accepted'> | 'account deleting'): Problem {
  switch (status) {
    case 'disabled':
      return new Problem(
        'webhook-disabled',
        'The webhook is disabled. Set its status to "active" with PATCH /v1/webhooks/{id} first.',
      );
    case 'account deleting':
      return new Problem(
        'account-deleting',
        'The account of this movement is being deleted. Nothing of it is sent any more.',
      );
    case 'deleted':
      return new Problem(
        'webhook-deleted',
        'The webhook was deleted. Create a new one, and read past movements with GET /v1/transactions.',
      );
  }
}
