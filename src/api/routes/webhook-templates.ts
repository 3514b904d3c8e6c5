import * as v from 'valibot';
import type { Runtime } from '../../database/runtime.ts';
import { readId, readJson, readQuery } from '../../http/input.ts';
import { linkNext, linkPage, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import type { AddressGuard } from '../../platform/address-guard.ts';
import {
  readTemplateWebhooks,
  TemplateView,
  TemplateWebhookView,
  viewTemplates,
  viewTemplateWebhook,
  WITH,
} from '../../verdict/template-view.ts';
import { requestTemplateReplay } from '../../webhooks/template-replays.ts';
import {
  changeTemplate,
  createTemplate,
  deleteTemplate,
  findTemplate,
  findTemplates,
  MOST_TEMPLATES,
  ownerOf,
} from '../../webhooks/templates.ts';
import { NewTemplate, TemplateChange } from '../../webhooks/webhook-input.ts';
import { rotateWebhookSecret } from '../../webhooks/webhooks.ts';
import { idParameter } from '../openapi/openapi.ts';
import { type AddRoute, operatorOf } from './route.ts';
import { Range, readStatuses } from './webhooks.ts';

const Query = v.strictObject(paging('g1', MAX_PER_PAGE));

const WebhooksQuery = v.strictObject({
  having: v.pipe(
    v.optional(v.picklist(WITH, 'must be "pending" or "failed"')),
    v.description('Only webhooks with deliveries of this status.'),
  ),
  ...paging('h1', 100),
});

const TEMPLATE = { id: idParameter('webhook template') };

/** Adds the routes with which operators keep one webhook for each customer. */
export function addTemplateRoutes(route: AddRoute, runtime: Runtime, guard: AddressGuard): void {
  const { database } = runtime;

  async function show(id: string, secret?: string) {
    const [template] = await viewTemplates(runtime, [id], secret);
    return template;
  }

  route('POST /v1/webhook-templates', {
    tag: 'Webhook templates',
    role: 'operator',
    idempotent: true,
    operationId: 'createWebhookTemplate',
    summary: 'Create a webhook for each customer',
    description: `Creates a template: it has one webhook for each customer that it matches, all with its endpoint, its secret and its settings. A new customer has its webhook when it is created. The webhooks of existing customers are made in the background, the first within the request: webhooks.customers_left says for how many customers that has still to be done. A movement is sent if it is stored after the webhook of its customer was made. Each notification has the headers ledgerbell-customer and, if the customer has one, ledgerbell-external-id, percent-encoded. The hash is made with the API secret of the customer, the signature with the secret of the template. The endpoint has one circuit. rate_limit, max_in_flight, ordered and batch hold for the webhook of each customer. Customers do not see these webhooks. The event OPERATIONAL is not allowed. An installation has at most ${MOST_TEMPLATES} templates.`,
    body: { 'application/json': NewTemplate },
    answer: {
      schema: v.object({ webhook_template: TemplateView }),
      description: 'The template, with its secret, unless the delivery is pull.',
      secrets: ['webhook_template.secret'],
    },
    problems: ['endpoint-refused', 'template-limit-reached'],
    handle: async (c) => {
      const body = await readJson(c, NewTemplate);
      const { id, secret } = await createTemplate(runtime, guard, operatorOf(c.get('actor')), body);
      return c.json({ webhook_template: await show(id, secret) });
    },
  });

  route('GET /v1/webhook-templates', {
    tag: 'Webhook templates',
    role: 'viewer',
    operationId: 'listWebhookTemplates',
    summary: 'List webhook templates',
    description: 'Lists templates, the oldest first. If there is a next page, the header Link has its path.',
    query: Query,
    answer: {
      schema: v.object({ webhook_templates: v.array(TemplateView) }),
      description: 'A page of templates.',
    },
    handle: async (c) => {
      const { per_page, cursor = '0' } = readQuery(c, Query);
      const found = await findTemplates(database, { after: cursor, limit: per_page + 1 });
      const ids = linkPage(c, 'g1', found, per_page).map(({ id }) => id);
      return c.json({ webhook_templates: await viewTemplates(runtime, ids) });
    },
  });

  route('GET /v1/webhook-templates/:id', {
    tag: 'Webhook templates',
    role: 'viewer',
    operationId: 'getWebhookTemplate',
    summary: 'Get a webhook template',
    description:
      'The deliveries are those of all its webhooks together, added up every ten seconds. health is that of its endpoint.',
    path: TEMPLATE,
    answer: {
      schema: v.object({ webhook_template: TemplateView }),
      description: 'The template, without its secret.',
    },
    handle: async (c) => {
      const { id } = await findTemplate(database, readId(c, 'webhook template'));
      return c.json({ webhook_template: await show(id) });
    },
  });

  route('PATCH /v1/webhook-templates/:id', {
    tag: 'Webhook templates',
    role: 'operator',
    operationId: 'updateWebhookTemplate',
    summary: 'Change a webhook template, pause it, or activate it',
    description:
      'A new status, endpoint or setting holds for all webhooks of the template immediately, also for what is pending. New events, and new customers, hold for each webhook when the background has reached it: webhooks.customers_left counts down. A customer that does not match any more keeps its webhook, which matches nothing from then on; what is pending is still sent. Paused and disabled templates keep matching: what is stored meanwhile is pending until the template is active again.',
    body: { 'application/json': TemplateChange },
    path: TEMPLATE,
    answer: {
      schema: v.object({ webhook_template: TemplateView }),
      description: 'The template, without its secret.',
    },
    problems: ['endpoint-refused'],
    handle: async (c) => {
      const before = await findTemplate(database, readId(c, 'webhook template'));
      const change = await readJson(c, TemplateChange);
      await changeTemplate(runtime, guard, operatorOf(c.get('actor')), before, change);
      return c.json({ webhook_template: await show(before.id) });
    },
  });

  route('DELETE /v1/webhook-templates/:id', {
    tag: 'Webhook templates',
    role: 'operator',
    operationId: 'deleteWebhookTemplate',
    summary: 'Delete a webhook template with its webhooks',
    description:
      'Nothing more is sent to its endpoint, and pending deliveries become cancelled. The log of the deliveries is kept as long as that of other webhooks.',
    path: TEMPLATE,
    answer: { schema: v.object({ status: v.literal('success') }), description: 'The template is deleted.' },
    handle: async (c) => {
      const template = await findTemplate(database, readId(c, 'webhook template'));
      await deleteTemplate(runtime, operatorOf(c.get('actor')), template);
      return c.json({ status: 'success' });
    },
  });

  route('POST /v1/webhook-templates/:id/rotate-secret', {
    tag: 'Webhook templates',
    role: 'operator',
    idempotent: true,
    operationId: 'rotateWebhookTemplateSecret',
    summary: 'Replace the secret of a webhook template',
    description:
      'For 24 hours, notifications have two signatures: one with the new secret and one with the previous one. A template with the delivery pull has no secret.',
    path: TEMPLATE,
    answer: {
      schema: v.object({ webhook_template: TemplateView }),
      description: 'The template, with its new secret, which is shown in this answer only.',
      secrets: ['webhook_template.secret'],
    },
    problems: ['pulled-webhook'],
    handle: async (c) => {
      const template = await findTemplate(database, readId(c, 'webhook template'));
      const secret = await rotateWebhookSecret(
        runtime,
        ownerOf(template, operatorOf(c.get('actor'))),
        template,
      );
      return c.json({ webhook_template: await show(template.id, secret) });
    },
  });

  const ReplayRange = Range(runtime.config.zone);
  route('POST /v1/webhook-templates/:id/replay', {
    tag: 'Webhook templates',
    role: 'operator',
    idempotent: true,
    operationId: 'replayWebhookTemplate',
    summary: 'Replay notifications of all webhooks of a template',
    description:
      'Sends the deliveries of movements that were stored from since to until, both inclusive, again: the failed ones, or those with the statuses in status. Each webhook of the template is given a replay of its own, in the background: replay.webhooks_left counts down. A template has one such replay at a time. If the delivery is pull, send only since: each feed moves back.',
    body: { 'application/json': ReplayRange },
    path: TEMPLATE,
    answer: {
      status: 202,
      schema: v.object({ webhook_template: TemplateView }),
      description: 'The template, with the accepted replay.',
    },
    problems: ['replay-under-way'],
    handle: async (c) => {
      const template = await findTemplate(database, readId(c, 'webhook template'));
      const range = await readJson(c, ReplayRange);
      const statuses = readStatuses(range, template.delivery);
      const caller = ownerOf(template, operatorOf(c.get('actor')));
      const { since, until } = range;
      await requestTemplateReplay(runtime, caller, template, { since, until, statuses });
      return c.json({ webhook_template: await show(template.id) }, 202);
    },
  });

  route('GET /v1/webhook-templates/:id/webhooks', {
    tag: 'Webhook templates',
    role: 'viewer',
    operationId: 'listWebhooksOfTemplate',
    summary: 'List the webhooks of a template, with their customers',
    description:
      'Lists them in the order of the ids of their customers. If there is a next page, the header Link has its path. The deliveries of each are those of GET /v1/webhooks/{id}/deliveries, with the header Ledgerbell-Customer.',
    path: TEMPLATE,
    query: WebhooksQuery,
    answer: {
      schema: v.object({ webhooks: v.array(TemplateWebhookView) }),
      description: 'A page of webhooks.',
    },
    handle: async (c) => {
      const { per_page, cursor = '0', having } = readQuery(c, WebhooksQuery);
      const { id } = await findTemplate(database, readId(c, 'webhook template'));
      const found = await readTemplateWebhooks(database, id, { after: cursor, limit: per_page + 1, having });
      const page = found.slice(0, per_page);
      linkNext(c, 'h1', found.length > per_page ? (page.at(-1)?.customer_id ?? null) : null);
      return c.json({ webhooks: page.map(viewTemplateWebhook) });
    },
  });
}
