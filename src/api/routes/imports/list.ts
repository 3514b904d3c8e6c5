import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId, readQuery } from '../../../http/input.ts';
import { BEYOND_NEWEST, encodeCursor, linkNext, paging, pagingParameters } from '../../../http/paging.ts';
import {
  findImportDuplicates,
  findImportErrors,
  ImportView,
  viewImport,
} from '../../../intake/import-view.ts';
import { findImport, listImports } from '../../../intake/imports.ts';
import { LISTED_REASONS } from '../../../ledger/known-movements.ts';
import { Count, IdView } from '../../../platform/validation.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

const PER_PAGE = 100;

const Query = v.strictObject(paging('i1', PER_PAGE));

/** GET /v1/imports */
export const listImportsRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Imports',
      scope: 'read',
      operationId: 'listImports',
      summary: 'List your imports',
      description:
        'Lists imports, the newest first. If there is a next page, the header Link has its path. A limited API key sees only the imports that were sent with it, or collected for one of its accounts.',
      query: pagingParameters('i1', PER_PAGE),
      answer: {
        schema: v.object({ imports: v.array(ImportView) }),
        description: 'A page of imports.',
      },
    },
    async (c) => {
      const { per_page, cursor = BEYOND_NEWEST } = readQuery(c, Query);
      const filters = { viewer: c.get('caller'), before: cursor };
      const { rows, next } = await listImports(database, filters, per_page);
      if (next !== null) linkNext(c, encodeCursor(next, 'i1'));
      return c.json({ imports: rows.map(viewImport) });
    },
  );

/** GET /v1/imports/:id */
export const getImportRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Imports',
      scope: 'read',
      operationId: 'getImport',
      summary: 'Get an import',
      path: { id: idParameter('import') },
      answer: { schema: v.object({ import: ImportView }), description: 'The import.' },
    },
    async (c) =>
      c.json({ import: viewImport(await findImport(database, c.get('caller'), readId(c, 'import'))) }),
  );

/** GET /v1/imports/:id/errors */
export const listImportErrorsRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Imports',
      scope: 'read',
      operationId: 'listImportRejections',
      summary: 'List the rejected rows of an import',
      description:
        'Lists why rows were rejected. The other rows are stored. At most 10,000 issues are listed, and rows of a statement that are rejected for the same reason are listed once. rejected and warnings in the import count all of them.',
      path: { id: idParameter('import') },
      answer: {
        schema: v.object({
          import: ImportView,
          errors: v.array(v.object({ line: Count, path: v.string(), message: v.string() })),
          warnings: v.array(v.object({ line: Count, message: v.string() })),
        }),
        description: 'The issues, by line, and the import with its counts.',
      },
    },
    async (c) => {
      const found = await findImport(database, c.get('caller'), readId(c, 'import'));
      return c.json({ import: viewImport(found), ...(await findImportErrors(database, found.id)) });
    },
  );

/** GET /v1/imports/:id/duplicates */
export const listImportDuplicatesRoute = ({ database }: Runtime) =>
  createRoute(
    {
      tag: 'Imports',
      scope: 'read',
      operationId: 'listImportDuplicates',
      summary: 'List the known and assumed rows of an import',
      description:
        'Lists the rows that were taken for a stored movement, with its id. At most 10,000 are listed; duplicates, conflicts and assumed_new in the import count all of them. same: the same unique_id and content, or the same reference or balance in a statement. changed: another text or balance. assumed: nothing tells the two apart, and nothing proves that they are the same. conflict: another direction, amount or date. assumed_new: the row was stored, and transaction_id is its movement; nothing proves that it is not a stored one.',
      path: { id: idParameter('import') },
      answer: {
        schema: v.object({
          import: ImportView,
          duplicates: v.array(
            v.object({ line: Count, reason: v.picklist(LISTED_REASONS), transaction_id: IdView }),
          ),
        }),
        description: 'The rows in their order, and the import with its counts.',
      },
    },
    async (c) => {
      const found = await findImport(database, c.get('caller'), readId(c, 'import'));
      return c.json({
        import: viewImport(found),
        duplicates: await findImportDuplicates(database, found.id),
      });
    },
  );
