import * as v from 'valibot';
import { BooksReportView } from '../../books/books-view.ts';
import { areBooksRight, verifyBooks } from '../../books/verify-books.ts';
import { OperatorTokenView, viewToken } from '../../customers/operator-token-view.ts';
import { createToken, deleteToken, findTokens, NewOperatorToken } from '../../customers/operator-tokens.ts';
import { AUDIT_SOURCES, readAudit } from '../../customers/read-audit.ts';
import { mysqlProblem } from '../../database/errors.ts';
import { within } from '../../database/health.ts';
import { readHostProblems } from '../../database/lead-to-primary.ts';
import type { Runtime } from '../../database/runtime.ts';
import { customerOf } from '../../http/app.ts';
import { readId, readJson, readQuery } from '../../http/input.ts';
import { BEYOND_NEWEST, linkNext, linkPage, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import { CalendarDate, IdView, ShownOnce, Timestamp } from '../../platform/validation.ts';
import { Id } from '../../platform/whole-numbers.ts';
import { readDeletions } from '../../upkeep/deletions.ts';
import { READ_LIMIT, readVerdict } from '../../verdict/verdict.ts';
import { idParameter } from '../openapi/openapi.ts';
import { StatusView } from '../status-document.ts';
import { type StatusReport, viewStatus } from '../status-view.ts';
import { type AddRoute, operatorOf } from './route.ts';

const TokensQuery = v.strictObject(paging('o1', MAX_PER_PAGE));

const AuditQuery = v.strictObject({
  subject: v.pipe(
    v.optional(v.pipe(v.string(), v.maxLength(64, 'must be at most 64 characters long'))),
    v.description('Only changes of this, such as "webhook 12".'),
  ),
  source: v.pipe(v.optional(v.picklist(AUDIT_SOURCES)), v.description('Only changes made there.')),
  ...paging('e1', 100),
});

const ChangeView = v.object({
  id: IdView,
  at: Timestamp,
  customer_id: v.nullable(IdView),
  source: v.picklist(AUDIT_SOURCES),
  actor: v.string(),
  action: v.string(),
  subject: v.string(),
  detail: v.string(),
});

const unlessOfMysql = (error: unknown): null => {
  if (mysqlProblem(error) === null) throw error;
  return null;
};

const ACCOUNTS_PER_PAGE = 20;

const VerifyQuery = v.strictObject({
  account: v.pipe(v.optional(Id), v.description('Only this account.')),
  from: v.pipe(v.optional(CalendarDate), v.description('Only statements that end on this day or later.')),
  to: v.pipe(v.optional(CalendarDate), v.description('Only statements that begin on this day or earlier.')),
  ...paging('v1', ACCOUNTS_PER_PAGE),
});

/** Adds the routes of the installation for operators: their tokens, the verdict, the audit log, and the check of books. */
export function addOperatorRoutes(route: AddRoute, { database, health }: Runtime): void {
  route('GET /v1/operator-tokens', {
    tag: 'Operators',
    role: 'admin',
    operationId: 'listOperatorTokens',
    summary: "List operators' tokens",
    description:
      'Lists the tokens, the oldest first, without the tokens themselves. If there is a next page, the header Link has its path.',
    query: TokensQuery,
    answer: {
      schema: v.object({ operator_tokens: v.array(OperatorTokenView) }),
      description: 'A page of tokens.',
    },
    handle: async (c) => {
      const { per_page, cursor = '0' } = readQuery(c, TokensQuery);
      const found = await findTokens(database, { after: cursor, limit: per_page + 1 });
      return c.json({ operator_tokens: linkPage(c, 'o1', found, per_page).map(viewToken) });
    },
  });

  route('POST /v1/operator-tokens', {
    tag: 'Operators',
    role: 'admin',
    idempotent: true,
    operationId: 'createOperatorToken',
    summary: "Create an operator's token",
    description: 'The token itself is shown only in this answer.',
    body: { 'application/json': NewOperatorToken },
    answer: {
      schema: v.object({ operator_token: v.object({ id: IdView, token: ShownOnce }) }),
      description: 'The token.',
      secrets: ['operator_token.token'],
    },
    problems: ['operator-token-limit-reached'],
    handle: async (c) => {
      const body = await readJson(c, NewOperatorToken);
      const { id, token } = await createToken(database, operatorOf(c.get('actor')), body);
      return c.json({ operator_token: { id: Number(id), token } });
    },
  });

  route('DELETE /v1/operator-tokens/:id', {
    tag: 'Operators',
    role: 'admin',
    operationId: 'deleteOperatorToken',
    summary: "Delete an operator's token",
    description: 'Requests with a deleted token are answered 401.',
    path: { id: idParameter('token') },
    answer: { schema: v.object({ status: v.literal('success') }), description: 'The token is deleted.' },
    handle: async (c) => {
      await deleteToken(database, operatorOf(c.get('actor')), readId(c, 'token'));
      return c.json({ status: 'success' });
    },
  });

  route('GET /v1/verdict', {
    tag: 'Operators',
    role: 'viewer',
    operationId: 'getVerdict',
    summary: 'Get whether anything is wrong, and with what',
    description:
      'The same as `ledgerbell status --json` prints. Figures are null while MySQL cannot be read.',
    answer: { schema: StatusView, description: 'The state of the installation.' },
    handle: async (c) => {
      const seen = { ...(await health()), hostProblems: readHostProblems(database) };
      const without = async (mysql: string): Promise<StatusReport> => ({
        verdict: await readVerdict(null, { ...seen, mysql }),
        migrations: 'unknown',
        deletions: null,
      });
      const read = async (): Promise<StatusReport> => {
        const verdict = await readVerdict(database, seen);
        if (verdict.work === null) return { verdict, migrations: 'unknown', deletions: null };
        return { verdict, migrations: 'ok', deletions: await readDeletions(database) };
      };
      if (seen.mysqlRoundTrip === null) return c.json(viewStatus(await without(seen.mysql)));
      // A statement that MySQL never answers must not keep back what is known.
      const report = await within<StatusReport | null>(read().catch(unlessOfMysql), READ_LIMIT, () => null);
      const unread = () => without(seen.mysql === 'ok' ? 'does not answer' : seen.mysql);
      return c.json(viewStatus(report ?? (await unread())));
    },
  });

  route('GET /v1/audit', {
    tag: 'Operators',
    role: 'viewer',
    operationId: 'listChanges',
    summary: 'List changes, and who made them',
    description:
      'Lists the audit log, the newest change first; with Ledgerbell-Customer, only changes of what belongs to that customer. If there is a next page, the header Link has its path.',
    query: AuditQuery,
    answer: { schema: v.object({ changes: v.array(ChangeView) }), description: 'A page of changes.' },
    handle: async (c) => {
      const { subject = null, source = null, per_page, cursor = BEYOND_NEWEST } = readQuery(c, AuditQuery);
      const filters = { subject, source, customerId: customerOf(c) ?? null, before: cursor };
      const found = await readAudit(database, filters, per_page + 1);
      return c.json({
        changes: linkPage(c, 'e1', found, per_page).map(({ customer: _, ...it }) => ({
          ...it,
          id: Number(it.id),
          at: it.at.toISOString(),
          customer_id: it.customer_id === null ? null : Number(it.customer_id),
        })),
      });
    },
  });

  route('GET /v1/verify', {
    tag: 'Operators',
    scope: 'read',
    role: 'viewer',
    operationId: 'verifyBooks',
    summary: 'Check the books of a customer',
    description:
      'Compares statements, movements and deliveries, account by account, as `ledgerbell verify` does. Each page has at most per_page accounts, and all pending deliveries of the customer. If there is a next page, the header Link has its path.',
    query: VerifyQuery,
    answer: { schema: BooksReportView, description: 'What was found.' },
    handle: async (c) => {
      const { account: accountId = null, from, to, per_page, cursor = '0' } = readQuery(c, VerifyQuery);
      const report = await verifyBooks(
        database,
        c.get('caller').customerId,
        { from: from ?? null, to: to ?? null },
        { accountId, after: cursor, limit: per_page },
      );
      const { accounts, pending } = report;
      linkNext(c, 'v1', accounts.length < per_page ? null : String(accounts.at(-1)?.id));
      return c.json({
        status: areBooksRight(report) ? 'right' : 'wrong',
        deliveries: pending.length === 0 ? 'done' : 'pending',
        ...report,
      });
    },
  });
}
