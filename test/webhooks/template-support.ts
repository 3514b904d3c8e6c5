import { expect } from 'vitest';
import { reconcileDeliveries } from '../../src/delivery/reconcile.ts';
import { addDeliveryJobs } from '../../src/platform/queues.ts';
import { asOperator, newExternalId } from '../operators/support.ts';
import type { TestService } from '../support/service.ts';

/** Templates, and customers that they match. */

export interface TemplateCustomer {
  id: number;
  external_id: string;
  key: string;
  accountId: number;
}

let rows = 0;

/** What a test does as an operator with templates. @param token read when a request is sent. */
export function useTemplates(service: TestService, token: () => string) {
  const call = (method: string, path: string, options = {}) =>
    asOperator(service, token(), method, path, options);

  return {
    call,
    /** Creates a template of the customers of a group. */
    async createTemplate(group: string, fields: object) {
      const body = { title: 'All customers', event: 'NEW_TRANSACTION', customers: { metadata: { group } } };
      const answer = await call('POST', '/v1/webhook-templates', { body: { ...body, ...fields } });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.webhook_template;
    },
    async createCustomer(group: string): Promise<TemplateCustomer> {
      const external_id = `kunde ${newExternalId()}/ü`;
      const { body } = await call('POST', '/v1/customers', {
        body: {
          name: 'Acme',
          external_id,
          metadata: { group, plan: 'pro' },
          accounts: [{ bank: 'Bank', title: 'Konto', currency: 'EUR' }],
        },
      });
      return { id: body.customer.id, external_id, key: body.api_key, accountId: body.accounts[0].id };
    },
    /** @returns the description of a movement that was stored. */
    async addMovement({ key, accountId }: TemplateCustomer): Promise<string> {
      rows += 1;
      const description = `row ${rows}`;
      const row = { account_id: accountId, dc: 'Credit', amount: '1.00', date_issue: '2026-01-05' };
      const transactions = [{ ...row, unique_id: `u${rows}`, description }];
      const { status, body } = await service.call('POST', '/v1/imports', { key, body: { transactions } });
      expect(status, JSON.stringify(body)).toBe(202);
      return description;
    },
    change: (id: number, body: object) => call('PATCH', `/v1/webhook-templates/${id}`, { body }),
    webhooksOf: async (id: number) =>
      (await call('GET', `/v1/webhook-templates/${id}/webhooks`)).body.webhooks as {
        id: number;
        customer: { id: number; external_id: string };
        status: string;
      }[],
    /** What the maintenance role does every ten seconds. */
    reconcile: () =>
      reconcileDeliveries(service.runtime.database, (ids) => addDeliveryJobs(service.runtime.queues, ids)),
  };
}
