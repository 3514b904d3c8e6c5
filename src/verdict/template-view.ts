import * as v from 'valibot';
import type { Runtime } from '../database/runtime.ts';
import type { Sql } from '../database/transaction.ts';
import { Count, IdView, withExample } from '../platform/validation.ts';
import { statusOf } from '../webhook-record/record.ts';
import { StandingWebhookView, viewStandings } from './standing-view.ts';

/** Templates and their webhooks, as operators are shown them. */

const { account: _account, feed: _feed, ...shared } = StandingWebhookView.entries;

export const TemplateView = v.object({
  ...shared,
  customers: v.pipe(
    v.union([
      v.literal('all'),
      withExample(v.object({ metadata: v.record(v.string(), v.string()) }), { metadata: { plan: 'shop' } }),
    ]),
    v.description('Which customers it matches.'),
  ),
  webhooks: v.pipe(
    v.object({
      active: v.pipe(Count, v.description('Its webhooks: one for each customer that it matches.')),
      ended: v.pipe(Count, v.description('Those of customers that it does not match any more.')),
      customers_left: v.pipe(
        Count,
        v.description(
          'Customers that have still to be looked at, after it was created, or its events or customers were changed. 0: each customer has its webhook.',
        ),
      ),
    }),
    v.description('A movement is sent from the moment on that the webhook of its customer exists.'),
  ),
  replay: v.pipe(
    v.nullable(v.object({ webhooks_left: Count })),
    v.description(
      'A replay of all webhooks, and how many of them have still to be given theirs. null: none is under way.',
    ),
  ),
});

/** Indexes: the primary key of each table, and webhooks_template_status, which covers the counts. */
const READ_TEMPLATES = `
  SELECT t.webhook_id AS id, t.metadata,
    (SELECT COUNT(*) FROM webhooks w FORCE INDEX (webhooks_template_status) WHERE w.template_id = t.webhook_id AND w.status IN ('active', 'paused')) AS active,
    (SELECT COUNT(*) FROM webhooks w FORCE INDEX (webhooks_template_status) WHERE w.template_id = t.webhook_id AND w.status = 'ended') AS ended,
    IF(t.checked_through IS NULL, 0,
      (SELECT COUNT(*) FROM customers c WHERE c.id > t.checked_through AND c.is_operator IS NULL)) AS customers_left,
    IF(t.replay_through IS NULL, NULL, (SELECT COUNT(*) FROM webhooks w FORCE INDEX (webhooks_of_template)
      WHERE w.template_id = t.webhook_id AND w.customer_id > t.replay_through)) AS replay_left
  FROM webhook_templates t WHERE t.webhook_id IN (?)`;

interface Row {
  id: string;
  metadata: string | null;
  active: string | number;
  ended: string | number;
  customers_left: string | number;
  replay_left: string | number | null;
}

/** Which customers a template matches, and how many webhooks it has. */
export type TemplateFacts = Pick<v.InferOutput<typeof TemplateView>, 'customers' | 'webhooks' | 'replay'>;

/** Reads what only templates have, by their ids. */
export async function readTemplateFacts(
  sql: Sql,
  ids: readonly string[],
): Promise<ReadonlyMap<string, TemplateFacts>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<Row[]>(READ_TEMPLATES, [ids]);
  return new Map(
    rows.map(({ id, metadata, ...counts }) => [
      String(id),
      {
        customers: metadata === null ? 'all' : { metadata: JSON.parse(metadata) },
        webhooks: {
          active: Number(counts.active),
          ended: Number(counts.ended),
          customers_left: Number(counts.customers_left),
        },
        replay: counts.replay_left === null ? null : { webhooks_left: Number(counts.replay_left) },
      },
    ]),
  );
}

/** Shows templates, in the order of the ids. @param secret of the only one, shown in this answer only. */
export async function viewTemplates(
  runtime: Pick<Runtime, 'database' | 'secrets'>,
  ids: readonly string[],
  secret?: string,
): Promise<v.InferOutput<typeof TemplateView>[]> {
  if (ids.length === 0) return [];
  const [views, factsOf] = await Promise.all([
    viewStandings(runtime, ids),
    readTemplateFacts(runtime.database, ids),
  ]);
  return views.flatMap(({ account, feed, ...view }) => {
    const facts = factsOf.get(String(view.id));
    return facts === undefined ? [] : { ...view, ...(secret === undefined ? {} : { secret }), ...facts };
  });
}

/** A webhook of a template. */
export const TemplateWebhookView = v.object({
  id: IdView,
  customer: v.object({ id: IdView, name: v.string(), external_id: v.nullable(v.string()) }),
  status: v.pipe(
    v.picklist(['active', 'paused', 'disabled', 'ended']),
    v.description(
      'That of its template, unless it is paused by the service, or ended: its customer is not matched any more, and what is pending is still sent.',
    ),
  ),
  status_reason: withExample(v.nullable(v.string()), 'The endpoint answered 410.'),
  deliveries: v.object({ pending: Count, delivered: Count, failed: Count }),
});

export interface TemplateWebhookRow {
  id: string;
  customer_id: string;
  name: string;
  external_id: string | null;
  status: 'active' | 'paused' | 'disabled' | 'ended';
  status_reason: string | null;
  matched: string;
  delivered: string;
  failed: string;
}

/** Indexes: webhooks_of_template, whose entries of a template are in the order of its customers, and the primary keys. */
const READ_TEMPLATE_WEBHOOKS = (condition: string) => `
  SELECT w.id, w.customer_id, u.name, u.external_id, IF(w.status = 'ended', 'ended', ${statusOf('w', 's')}) AS status,
    IF(w.status = 'paused', w.status_reason, s.status_reason) AS status_reason,
    b.matched_count AS matched, c.delivered_count AS delivered, c.failed_count AS failed
  FROM webhooks w FORCE INDEX (webhooks_of_template) STRAIGHT_JOIN webhooks s ON s.id = w.template_id
    STRAIGHT_JOIN customers u ON u.id = w.customer_id
    STRAIGHT_JOIN webhook_backlogs b ON b.webhook_id = w.id STRAIGHT_JOIN webhook_cursors c ON c.webhook_id = w.id
  WHERE w.template_id = ? AND w.customer_id > ? AND w.status <> 'deleted' ${condition}
  ORDER BY w.template_id, w.customer_id LIMIT ?`;

const FAILED = 'AND c.failed_count > 0';
const PENDING = 'AND CAST(b.matched_count AS SIGNED) > c.delivered_count + c.failed_count';

/** Which webhooks of a template are listed. */
export const WITH = ['pending', 'failed'] as const;

/** Reads webhooks of a template, in the order of their customers. @param options.having only those with deliveries of this status. */
export function readTemplateWebhooks(
  sql: Sql,
  templateId: string,
  { after, limit, having }: { after: string; limit: number; having?: (typeof WITH)[number] | undefined },
): Promise<TemplateWebhookRow[]> {
  const condition = having === undefined ? '' : having === 'failed' ? FAILED : PENDING;
  return sql.query<TemplateWebhookRow[]>(READ_TEMPLATE_WEBHOOKS(condition), [templateId, after, limit]);
}

export const viewTemplateWebhook = (it: TemplateWebhookRow): v.InferOutput<typeof TemplateWebhookView> => ({
  id: Number(it.id),
  customer: { id: Number(it.customer_id), name: it.name, external_id: it.external_id },
  status: it.status,
  status_reason: it.status_reason,
  deliveries: {
    pending: Math.max(0, Number(it.matched) - Number(it.delivered) - Number(it.failed)),
    delivered: Number(it.delivered),
    failed: Number(it.failed),
  },
});
