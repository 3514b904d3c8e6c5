import { Hono } from 'hono';
import * as v from 'valibot';
import type { Runtime } from '../../database/runtime.ts';
import type { ApiEnv } from '../../http/app.ts';
import { Id } from '../../platform/validation.ts';
import { listSources } from '../../sources/find-source.ts';
import { Choice, Field, More, Table } from '../page/elements.tsx';
import { sendPage } from '../page/layout.tsx';
import { callerFor } from '../page/operator.ts';
import { pathWith, readFilters } from '../page/read-filters.ts';
import { findSourcesInTrouble } from '../totals.ts';
import { SourcesInTrouble, sourceColumns } from './source-columns.tsx';

const PER_PAGE = 50;

const Query = v.object({
  id: v.optional(Id),
  customer: v.optional(Id),
  account: v.optional(Id),
  status: v.optional(v.picklist(['active', 'paused'])),
  after: v.optional(Id),
});

/** GET /ops/sources: first the sources in trouble, then all sources. */
export const sourcesPage = (runtime: Runtime): Hono<ApiEnv> =>
  new Hono<ApiEnv>().get('/', async (c) => {
    const { database } = runtime;
    const { id, customer, account, status, after } = readFilters(c, Query);
    if (id !== undefined) return c.redirect(`/ops/sources/${id}`);
    const filters = {
      viewer: customer === undefined ? null : callerFor(c, runtime, customer),
      status,
      accountId: account,
      after: after ?? '0',
    };
    const isFirst = [customer, account, status, after].every((it) => it === undefined);
    const [trouble, { rows, next }] = await Promise.all([
      isFirst ? findSourcesInTrouble(database, PER_PAGE) : [],
      listSources(database, filters, PER_PAGE),
    ]);
    const now = new Date();
    return sendPage(
      c,
      { title: 'Sources', section: 'Sources' },
      <>
        <h1>Sources</h1>
        <form class="filters">
          <Field label="Source id" name="id" value="" />
          <Field label="Customer id" name="customer" value={customer} />
          <Field label="Account id" name="account" value={account} />
          <Choice
            label="Status"
            name="status"
            value={status}
            choices={[
              ['', 'all'],
              ['active', 'active'],
              ['paused', 'paused'],
            ]}
          />
          <button type="submit">Show</button>
        </form>
        {isFirst ? (
          <section>
            <h2>In trouble</h2>
            <SourcesInTrouble rows={trouble} now={now} />
          </section>
        ) : null}
        <section>
          <h2>{isFirst ? 'All' : 'Found'}</h2>
          <Table
            caption="Sources"
            columns={sourceColumns(now)}
            rows={rows}
            empty={next === null ? 'There are none.' : 'None among these. There may be newer ones.'}
          />
          <More
            label="More sources"
            href={next === null ? null : pathWith('/ops/sources', { ...c.req.query(), after: next })}
          />
        </section>
      </>,
    );
  });
