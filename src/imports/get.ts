import * as v from 'valibot';
import { createHandlers } from '../http/environment.ts';
import { readId } from '../http/input.ts';
import { describe } from '../http/openapi.ts';
import type { Runtime } from '../runtime.ts';
import { findImport, findImports } from './find.ts';
import { ImportView, viewImport } from './view.ts';

/** GET /v1/imports */
export const listImports = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Imports',
      summary: 'List your imports',
      answer: {
        schema: v.object({ imports: v.array(ImportView) }),
        description: 'The newest hundred, newest first.',
      },
    }),
    async (c) => c.json({ imports: (await findImports(database, c.get('caller'))).map(viewImport) }),
  );

/** GET /v1/imports/:id */
export const getImport = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Imports',
      summary: 'See how far an import is',
      answer: { schema: v.object({ import: ImportView }), description: 'The import.' },
      problems: ['not-found'],
    }),
    async (c) =>
      c.json({ import: viewImport(await findImport(database, c.get('caller'), readId(c, 'import'))) }),
  );

const ERRORS = 'SELECT line, path, message FROM import_errors WHERE import_id = ? ORDER BY line, path';

/** GET /v1/imports/:id/errors */
export const listImportErrors = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Imports',
      summary: 'List the rows of an import that could not be read',
      description: 'The other rows are stored. At most 10,000 issues are listed; rejected counts all.',
      answer: {
        schema: v.object({
          errors: v.array(v.object({ line: v.number(), path: v.string(), message: v.string() })),
        }),
        description: 'By line.',
      },
      problems: ['not-found'],
    }),
    async (c) => {
      const { id } = await findImport(database, c.get('caller'), readId(c, 'import'));
      return c.json({ errors: await database.query<unknown[]>(ERRORS, [id]) });
    },
  );
