import * as v from 'valibot';
import { GapView } from '../../books/books-view.ts';
import { findGapsBefore } from '../../books/import-gaps.ts';
import type { Runtime } from '../../database/runtime.ts';
import { readId, readQuery } from '../../http/input.ts';
import { BEYOND_NEWEST, linkNext, paging } from '../../http/paging.ts';
import { retryImport } from '../../intake/failed-imports.ts';
import {
  findImportDuplicates,
  findImportErrors,
  findImportFiles,
  ImportFileView,
  ImportView,
  IssueView,
  viewImport,
  viewImports,
  WarningView,
} from '../../intake/import-view.ts';
import { findImport, listImports } from '../../intake/imports.ts';
import type { FileReader } from '../../intake/parser-threads.ts';
import { LISTED_REASONS } from '../../ledger/row-fate.ts';
import { Count, IdView } from '../../platform/validation.ts';
import { idParameter } from '../openapi/openapi.ts';
import { addUploadRoute } from './imports/create.ts';
import type { AddRoute } from './route.ts';

/** The routes that list and show imports, and retry them. */

const PER_PAGE = 100;

const Query = v.strictObject(paging('i1', PER_PAGE));

/** An import with what only the route of a single one shows. */
const FollowedImport = v.object({
  ...ImportView.entries,
  gaps: v.pipe(
    v.array(GapView),
    v.description(
      'Statements that are missing before those of this import, once it is done. A gap is gone when the missing file has come.',
    ),
  ),
});

/** Adds the routes of imports. */
export function addImportRoutes(route: AddRoute, runtime: Runtime, reader: FileReader): void {
  const { database } = runtime;
  route('GET /v1/imports', {
    tag: 'Imports',
    scope: 'read',
    operationId: 'listImports',
    summary: 'List your imports',
    description:
      'Lists imports, the newest first. If there is a next page, the header Link has its path. A limited API key sees only the imports that were sent with it, or collected for one of its accounts.',
    query: Query,
    answer: {
      schema: v.object({ imports: v.array(ImportView) }),
      description: 'A page of imports.',
    },
    handle: async (c) => {
      const { per_page, cursor = BEYOND_NEWEST } = readQuery(c, Query);
      const filters = { viewer: c.get('caller'), before: cursor };
      const { rows, next } = await listImports(database, filters, per_page);
      linkNext(c, 'i1', next);
      return c.json({ imports: await viewImports(database, rows) });
    },
  });

  addUploadRoute(route, runtime, reader);

  route('GET /v1/imports/:id', {
    tag: 'Imports',
    scope: 'read',
    operationId: 'getImport',
    summary: 'Get an import',
    path: { id: idParameter('import') },
    answer: { schema: v.object({ import: FollowedImport }), description: 'The import.' },
    handle: async (c) => {
      const found = await findImport(database, c.get('caller'), readId(c, 'import'));
      const gaps = found.status === 'done' ? await findGapsBefore(database, found.id) : [];
      return c.json({ import: { ...(await viewImport(database, found)), gaps } });
    },
  });

  route('GET /v1/imports/:id/errors', {
    tag: 'Imports',
    scope: 'read',
    operationId: 'listImportRejections',
    summary: 'List the rejected rows of an import',
    description:
      'Lists why rows were rejected. The other rows are stored. At most 10,000 rejected rows and 10,000 warnings are listed, and rows of a statement that are rejected for the same reason are listed once. rejected and warnings in the import count all of them.',
    path: { id: idParameter('import') },
    answer: {
      schema: v.object({
        import: ImportView,
        errors: v.array(IssueView),
        warnings: v.array(WarningView),
      }),
      description: 'The issues, by line, and the import with its counts.',
    },
    handle: async (c) => {
      const found = await findImport(database, c.get('caller'), readId(c, 'import'));
      return c.json({
        import: await viewImport(database, found),
        ...(await findImportErrors(database, found.id)),
      });
    },
  });

  route('GET /v1/imports/:id/files', {
    tag: 'Imports',
    scope: 'read',
    operationId: 'listImportFiles',
    summary: 'List the files of a zip',
    description:
      'Lists what came of each file of a zip, in the order of the zip. Empty until the import is done, and for an import that is no zip.',
    path: { id: idParameter('import') },
    answer: {
      schema: v.object({ import: ImportView, files: v.array(ImportFileView) }),
      description: 'The files, and the import with its counts.',
    },
    handle: async (c) => {
      const found = await findImport(database, c.get('caller'), readId(c, 'import'));
      return c.json({
        import: await viewImport(database, found),
        files: await findImportFiles(database, found.id),
      });
    },
  });

  route('GET /v1/imports/:id/duplicates', {
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
    handle: async (c) => {
      const found = await findImport(database, c.get('caller'), readId(c, 'import'));
      return c.json({
        import: await viewImport(database, found),
        duplicates: await findImportDuplicates(database, found.id),
      });
    },
  });

  route('POST /v1/imports/:id/retry', {
    tag: 'Imports',
    scope: 'import',
    idempotent: true,
    operationId: 'retryImport',
    summary: 'Retry a failed import',
    description:
      'Queues a failed import again. It continues after the rows that are stored already, so nothing is stored twice. For an import with another status, or whose API key was deleted, the answer is 409.',
    path: { id: idParameter('import') },
    answer: {
      status: 202,
      schema: v.object({ import: ImportView }),
      description: 'The import, now queued.',
    },
    problems: ['import-not-failed', 'import-not-retryable'],
    handle: async (c) => {
      const retried = await retryImport(runtime, c.get('caller'), readId(c, 'import'));
      return c.json({ import: await viewImport(database, retried) }, 202);
    },
  });
}
