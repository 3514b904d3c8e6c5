import { Hono } from 'hono';
import * as v from 'valibot';
import type { Runtime } from '../../database/runtime.ts';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { Id } from '../../platform/validation.ts';
import { findWebhooks } from '../../webhooks/find-webhook.ts';
import { type AttemptSummary, readRecentAttempts, summarizeAttempts } from '../deliveries/delivery-rows.ts';
import { Field, More, Table } from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { callerFor } from '../page/operator.ts';
import { pathWith, readFilters } from '../page/read-filters.ts';
import { WebhooksInTrouble, webhookColumnsWithAttempts } from './webhook-columns.tsx';
import { readWebhookRows, readWebhooksInTrouble } from './webhook-rows.ts';

const PER_PAGE = 50;

/** How many attempts of each webhook are used for p95 and the success rate. */
const ATTEMPTS = 100;

const Query = v.object({ customer: v.optional(Id), after: v.optional(Id) });

/** GET /ops/webhooks: first the webhooks in trouble, then all webhooks. */
export const webhooksPage = (runtime: Runtime): Hono<ApiEnv> =>
  new Hono<ApiEnv>().get('/', async (c) => {
    const { database } = runtime;
    const { customer, after } = readFilters(c, Query);
    const now = new Date();
    const isFirst = customer === undefined && after === undefined;
    const [trouble, found] = await Promise.all([
      isFirst ? readWebhooksInTrouble(database, PER_PAGE) : [],
      findWebhooks(database, customer === undefined ? null : callerFor(c, runtime, customer), {
        after: after ?? '0',
        limit: PER_PAGE + 1,
      }),
    ]);
    const ids = found.slice(0, PER_PAGE).map(({ id }) => id);
    const [all, recent] = await Promise.all([
      readWebhookRows(database, ids),
      summarizeRecent(database, [...new Set([...trouble.map(({ id }) => id), ...ids])]),
    ]);
    const columns = webhookColumnsWithAttempts(now, recent);
    const last = ids.at(-1);
    const next = found.length > PER_PAGE && last !== undefined ? last : null;
    const owner = customer === undefined ? undefined : all[0]?.customer;
    return sendPage(
      c,
      { title: 'Webhooks', section: 'Webhooks' },
      <>
        <h1>Webhooks{owner === undefined ? '' : ` of ${owner}`}</h1>
        <form class="filters">
          <Field label="Customer id" name="customer" value={customer} />
          <button type="submit">Show</button>
        </form>
        {isFirst ? (
          <section>
            <h2>In trouble</h2>
            <WebhooksInTrouble rows={trouble} columns={columns} />
          </section>
        ) : null}
        <section>
          <h2>All</h2>
          <Table caption="All webhooks" columns={columns} rows={all} empty="There are none." />
          <More
            label="More webhooks"
            href={next === null ? null : pathWith('/ops/webhooks', { customer, after: next })}
          />
          <p class="calm">p95 and success are those of the last {ATTEMPTS} deliveries of each webhook.</p>
        </section>
      </>,
    );
  });

/** Summaries of recent attempts, by the id of the webhook. */
async function summarizeRecent(
  sql: Sql,
  webhookIds: readonly string[],
): Promise<ReadonlyMap<string, AttemptSummary>> {
  const attempts = await readRecentAttempts(sql, webhookIds, ATTEMPTS);
  return new Map(
    webhookIds.map((id) => [id, summarizeAttempts(attempts.filter(({ webhook_id }) => webhook_id === id))]),
  );
}
