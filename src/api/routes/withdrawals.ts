import type { Context } from 'hono';
import * as v from 'valibot';
import { readCompleteness } from '../../books/find-statements.ts';
import { maySee } from '../../customers/caller.ts';
import type { Runtime } from '../../database/runtime.ts';
import type { ApiEnv } from '../../http/app.ts';
import { Flag, readId, readJson, readQuery } from '../../http/input.ts';
import { BEYOND_NEWEST, linkCursor, linkNext, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import { PLAN_CURSOR, planWithdrawal, readPlanPage } from '../../intake/withdrawal-plan.ts';
import { WithdrawalPlanView } from '../../intake/withdrawal-plan-view.ts';
import { viewWithdrawal, WithdrawalView } from '../../intake/withdrawal-view.ts';
import {
  findImportToWithdraw,
  findStatementToWithdraw,
  findWithdrawal,
  listWithdrawals,
  requireEnded,
  type Subject,
  withdraw,
} from '../../intake/withdrawals.ts';
import { renderTransaction } from '../../movements/body.ts';
import { findTransactions } from '../../movements/transactions.ts';
import { documented, Title } from '../../platform/validation.ts';
import { WholeNumber } from '../../platform/whole-numbers.ts';
import { idParameter } from '../openapi/openapi.ts';
import type { AddRoute } from './route.ts';

/** The routes of withdrawals: what was stored by mistake is taken back. */

const PER_PAGE = 100;

const Reason = v.strictObject({
  reason: v.pipe(Title, v.description('Why it is withdrawn. It is shown with each movement.')),
});

const WithdrawQuery = v.strictObject({
  dry_run: v.pipe(
    Flag,
    v.description('Says what would be withdrawn, and changes nothing. The body may be left out then.'),
  ),
  per_page: v.pipe(
    v.optional(WholeNumber(1, MAX_PER_PAGE), String(PER_PAGE)),
    v.description('With dry_run: the movements of a page.'),
  ),
  cursor: v.pipe(
    v.optional(
      v.pipe(
        v.string(),
        documented({ pattern: PLAN_CURSOR.source }),
        v.regex(PLAN_CURSOR, 'must be copied unchanged from a Link header of this list'),
      ),
    ),
    v.description('With dry_run: where the page begins, from the header Link of the page before.'),
  ),
});

const ListQuery = v.strictObject(paging('x1', PER_PAGE));

/** The most accounts of which completeness is told. */
const MOST_ACCOUNTS = 10;

const WITHDRAWING = {
  tag: 'Withdrawals',
  scope: 'admin' as const,
  idempotent: true as const,
  query: WithdrawQuery,
  body: { 'application/json': Reason },
  answer: {
    status: 202 as const,
    schema: v.object({ withdrawal: WithdrawalView }),
    description: 'The withdrawal. Follow it at the path in the header Location.',
    headers: ['Location'] as const,
    statuses: {
      200: {
        description: 'With dry_run=true: what would be withdrawn, and a page of it.',
        schema: WithdrawalPlanView,
      },
    },
  },
  problems: ['unfinished-import', 'limited-api-key', 'overloaded'] as const,
};

const HOW = `Movements that another statement, or another JSON import, has too are kept. The others are left out of the listings, and webhooks for WITHDRAWN_TRANSACTION hear of them. What is pending of them ends as failed. The same withdrawal is carried out once. With dry_run=true nothing changes: the answer is 200 with what would be.`;

/** Adds the routes of withdrawals. */
export function addWithdrawalRoutes(route: AddRoute, runtime: Runtime): void {
  const { database, config } = runtime;

  /** Reads the completeness of the statements' accounts, with these statements and without them. */
  async function compareCompleteness(statements: readonly { id: string; accountId: string }[]) {
    const without = new Set(statements.map(({ id }) => id));
    const accounts = [...new Set(statements.map(({ accountId }) => accountId))].slice(0, MOST_ACCOUNTS);
    const compared: { account_id: number; before: string; after: string }[] = [];
    for (const id of accounts) {
      const before = await readCompleteness(database, id);
      const after = await readCompleteness(database, id, undefined, without);
      compared.push({ account_id: Number(id), before: before.status, after: after.status });
    }
    return compared;
  }

  async function answerPlan(
    c: Context<ApiEnv>,
    subject: Subject,
    { per_page, cursor = null }: { per_page: number; cursor?: string | undefined | null },
  ): Promise<Response> {
    const caller = c.get('caller');
    const { withdrawn, kept, isWhole, unlistedImportId, statements } = await planWithdrawal(
      database,
      subject,
    );
    const { movements, next } = await readPlanPage(database, subject, cursor, per_page);
    const found = await findTransactions(
      database,
      caller,
      movements.map(({ id }) => id),
      config.zone,
    );
    const isWithdrawn = new Map(movements.map((it) => [it.id, it.isWithdrawn]));
    const transactions = found
      .filter(({ account_id }) => maySee(caller, account_id))
      .map((it) => ({
        ...(JSON.parse(renderTransaction(it)) as object),
        outcome: isWithdrawn.get(it.id) ? 'withdrawn' : 'kept',
      }));
    if (next !== null) linkCursor(c, next);
    const { importId, statementId } = subject;
    return c.json({
      withdrawal: {
        import_id: Number(importId),
        statement_id: statementId === null ? null : Number(statementId),
        matched: withdrawn + kept,
        withdrawn,
        kept,
        is_whole: isWhole,
        statements: statements.length,
        unlisted_import_id: unlistedImportId === null ? null : Number(unlistedImportId),
        completeness: await compareCompleteness(statements),
      },
      transactions,
    });
  }

  async function answer(c: Context<ApiEnv>, subject: Subject): Promise<Response> {
    const { dry_run, ...page } = readQuery(c, WithdrawQuery);
    if (dry_run === 'true') {
      await requireEnded(database, subject);
      return answerPlan(c, subject, page);
    }
    const { reason } = await readJson(c, Reason);
    const withdrawal = await withdraw(runtime, c.get('caller'), subject, reason);
    c.header('Location', `/v1/withdrawals/${withdrawal.id}`);
    return c.json({ withdrawal: viewWithdrawal(withdrawal) }, 202);
  }

  route('POST /v1/imports/:id/withdraw', {
    ...WITHDRAWING,
    operationId: 'withdrawImport',
    summary: 'Withdraw an import',
    description: `Takes back what an import has stored by mistake. ${HOW}`,
    path: { id: idParameter('import') },
    handle: async (c) =>
      answer(c, await findImportToWithdraw(database, c.get('caller'), readId(c, 'import'))),
  });

  route('POST /v1/statements/:id/withdraw', {
    ...WITHDRAWING,
    operationId: 'withdrawStatement',
    summary: 'Withdraw a statement',
    description: `Takes back a statement that the bank has replaced, with its entries. ${HOW}`,
    path: { id: idParameter('statement') },
    handle: async (c) =>
      answer(c, await findStatementToWithdraw(database, c.get('caller'), readId(c, 'statement'))),
  });

  route('GET /v1/withdrawals', {
    tag: 'Withdrawals',
    scope: 'read',
    wholeKey: 'Get a withdrawal by its id instead.',
    operationId: 'listWithdrawals',
    summary: 'List withdrawals',
    description:
      'Lists withdrawals, the newest first. If there is a next page, the header Link has its path.',
    query: ListQuery,
    answer: {
      schema: v.object({ withdrawals: v.array(WithdrawalView) }),
      description: 'A page of withdrawals.',
    },
    handle: async (c) => {
      const { per_page, cursor = BEYOND_NEWEST } = readQuery(c, ListQuery);
      const { rows, next } = await listWithdrawals(database, c.get('caller').customerId, cursor, per_page);
      linkNext(c, 'x1', next);
      return c.json({ withdrawals: rows.map(viewWithdrawal) });
    },
  });

  route('GET /v1/withdrawals/:id', {
    tag: 'Withdrawals',
    scope: 'read',
    operationId: 'getWithdrawal',
    summary: 'Get a withdrawal',
    path: { id: idParameter('withdrawal') },
    answer: { schema: v.object({ withdrawal: WithdrawalView }), description: 'The withdrawal.' },
    handle: async (c) => {
      const found = await findWithdrawal(database, c.get('caller'), readId(c, 'withdrawal'));
      return c.json({ withdrawal: viewWithdrawal(found) });
    },
  });
}
