import * as v from 'valibot';
import { findDifferences, summariseDifferences } from '../../../books/book-differences.ts';
import {
  CompletenessView,
  findStatements,
  readCompleteness,
  readLateAt,
  StatementView,
  viewPeriod,
  viewStatement,
} from '../../../books/find-statements.ts';
import { findAccount } from '../../../customers/accounts.ts';
import type { Runtime } from '../../../database/runtime.ts';
import { readId, readQuery } from '../../../http/input.ts';
import { BEYOND_NEWEST, cutPage, paging, pagingParameters } from '../../../http/paging.ts';
import { invalid } from '../../../platform/problem.ts';
import { CalendarDate } from '../../../platform/validation.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

const PER_PAGE = 100;

/** The most periods in an answer. An account rarely has more than ten. */
const MOST_PERIODS = 1_000;

const Query = v.strictObject(paging('n1', PER_PAGE));

/** GET /v1/accounts/:id/statements */
export const listStatementsRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'read',
      operationId: 'listStatements',
      summary: 'List the statements of an account',
      description:
        'Lists the statements that files have brought, each once, the last received first. If there is a next page, the header Link has its path.',
      path: { id: idParameter('account') },
      query: pagingParameters('n1', PER_PAGE),
      answer: {
        schema: v.object({ statements: v.array(StatementView) }),
        description: 'A page of statements.',
      },
    },
    async (c) => {
      const account = await findAccount(database, c.get('caller'), readId(c, 'account'));
      const { per_page, cursor = BEYOND_NEWEST } = readQuery(c, Query);
      const page = { before: cursor, limit: per_page + 1 };
      const rows = cutPage(c, 'n1', await findStatements(database, account.id, page), per_page);
      return c.json({ statements: rows.map((row) => viewStatement(row, account.currency)) });
    },
  );

const Time = v.strictObject({ from: v.optional(CalendarDate), to: v.optional(CalendarDate) });

/** GET /v1/accounts/:id/completeness */
export const getCompletenessRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Accounts',
      scope: 'read',
      operationId: 'getCompleteness',
      summary: 'Find out whether the statements of an account are complete',
      description:
        'The closing balance of a statement is the opening balance of the next. Where it is not, one is missing: a gap, which is gone when the missing file has come.',
      path: { id: idParameter('account') },
      query: {
        from: {
          description: 'Only periods that end on this day or later.',
          schema: { type: 'string', format: 'date' },
        },
        to: {
          description: 'Only periods that begin on this day or earlier.',
          schema: { type: 'string', format: 'date' },
        },
      },
      answer: {
        schema: v.object({ completeness: CompletenessView }),
        description: `The periods of the account, by their days: the last ${MOST_PERIODS.toLocaleString('en')} of the time.`,
      },
    },
    async (c) => {
      const account = await findAccount(database, c.get('caller'), readId(c, 'account'));
      const { from = null, to = null } = readQuery(c, Time);
      if (from !== null && to !== null && from > to)
        throw invalid([{ path: 'from', message: 'must not be after to' }]);
      const { status, periods: all } = await readCompleteness(database, account.id, { from, to });
      const periods = all.slice(-MOST_PERIODS);
      const differences = await findDifferences(database, account.id, periods);
      const lateAt = await readLateAt(database, account);
      return c.json({
        completeness: {
          status: summariseDifferences(status, differences.values()),
          periods: periods.map((period) => ({
            ...viewPeriod(period),
            ...(differences.get(period) ?? { missing: [], surplus: [] }),
          })),
          late_at: lateAt?.toISOString() ?? null,
        },
      });
    },
  );
