import * as v from 'valibot';
import { AccountView, viewAccounts } from '../../../customers/account-view.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { readId } from '../../../http/input.ts';
import { acceptAccountDeletion } from '../../../upkeep/request-deletion.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute, requireWholeKey } from '../route.ts';

/** DELETE /v1/accounts/:id */
export const deleteAccountRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'admin',
      operationId: 'deleteAccount',
      summary: 'Delete an account',
      description:
        'Deletes the account with its movements, their deliveries and its webhooks. It cannot be undone. From the answer on, no movement of the account is stored or sent. What was pending ends as failed. The rows are deleted afterwards: until then the account is shown with the status deleting, and with how far the deletion is. Then it is gone (404). Imports keep their counts, and the body of a failed import that does not name this account stays until the import is removed.',
      path: { id: idParameter('account') },
      answer: {
        status: 202,
        schema: v.object({ account: AccountView }),
        description: 'The account, which is being deleted.',
      },
      problems: ['limited-api-key'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'Delete accounts with a key for all accounts.');
      const deleting = await acceptAccountDeletion(runtime, caller, readId(c, 'account'));
      const [account] = await viewAccounts(runtime, [deleting]);
      return c.json({ account }, 202);
    },
  );
