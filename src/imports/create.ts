import * as v from 'valibot';
import { wakeWebhooks } from '../delivering/wake.ts';
import { unknownKey } from '../http/authentication.ts';
import { keyReused, readIdempotencyKey, requestInProgress } from '../http/idempotency-key.ts';
import {
  check,
  invalidIssues,
  JSON_IMPORT_BYTES,
  mediaType,
  NDJSON_IMPORT_BYTES,
  parseJson,
  readBytes,
  readQuery,
  requireMediaType,
  streamBytes,
} from '../http/input.ts';
import { Problem } from '../http/problem.ts';
import { createRoute } from '../http/route.ts';
import type { FormatName } from '../importing/formats/index.ts';
import type { InlineImport } from '../importing/inline-import.ts';
import { createInlineImports, MAX_INLINE, type StoreInline } from '../importing/inline-imports.ts';
import { Movement } from '../importing/movement.ts';
import { type Staged, stageImport } from '../importing/stage.ts';
import { STATEMENT_FORMATS } from '../importing/statements/formats.ts';
import { queueImports } from '../queues/jobs.ts';
import type { Runtime } from '../runtime.ts';
import { createAccountCheck } from './account-check.ts';
import { findImport, type ImportRow } from './find.ts';
import { readStatementUpload, STATEMENT_PARAMETERS, STATEMENT_TYPES } from './statement-upload.ts';
import { ImportView, viewImport } from './view.ts';

const JSON_TYPE = 'application/json';
const NDJSON_TYPE = 'application/x-ndjson';

const Movements = v.strictObject({ transactions: v.array(Movement, 'must be an array of movements') });

/** Other parameters are refused. If they were ignored, a client would think that they had an effect. */
const query = (format: FormatName) =>
  v.strictObject({
    format: v.optional(v.literal(format, `must be "${format}" for this content type`)),
  });

/** POST /v1/imports */
export const createImport = (runtime: Runtime) => {
  const { database, queues, log } = runtime;
  const wake = (webhookIds: readonly string[]) => wakeWebhooks(runtime, webhookIds);
  const storeInline = createInlineImports({ database, wake, log });
  const findUnknownAccounts = createAccountCheck(database);
  return createRoute(
    {
      tag: 'Imports',
      scope: 'import',
      idempotent: true,
      summary: 'Import movements',
      description:
        'The answer is sent when the body is committed. The movements are stored and notified afterwards; those of a small JSON body are often stored already. A JSON body is checked as a whole, and refused as a whole. In NDJSON each line is checked alone: GET /v1/imports/{id}/errors lists the rejected ones. A statement file (MT940, MT942, CAMT, OFX, CSV, XLSX or BAI2; also in gzip or zip) is sent as it is; one that cannot be read ends as failed. You can repeat a request safely for 24 hours if you send an Idempotency-Key.',
      query: {
        format: {
          description:
            'The format of the body. JSON and NDJSON must match the content type. By default (auto) the content of a statement file decides.',
          schema: { type: 'string', enum: ['json', 'ndjson', 'auto', ...STATEMENT_FORMATS] },
        },
        ...STATEMENT_PARAMETERS,
      },
      body: {
        [JSON_TYPE]: Movements,
        [NDJSON_TYPE]: null,
        ...Object.fromEntries(STATEMENT_TYPES.map((type) => [type, null])),
      },
      answer: {
        status: 202,
        schema: v.object({ import: ImportView }),
        description: 'The accepted import. Follow it at the path in the header Location.',
        headers: ['Location'],
      },
      problems: ['upload-interrupted', 'overloaded'],
    },
    async (c) => {
      const caller = c.get('caller');
      const idempotencyKey = readIdempotencyKey(c);
      const type = mediaType(c);
      const isStatement = (STATEMENT_TYPES as readonly string[]).includes(type);
      requireMediaType(c, [JSON_TYPE, NDJSON_TYPE, ...STATEMENT_TYPES], isStatement ? ['gzip'] : []);
      if (!isStatement) readQuery(c, query(type === JSON_TYPE ? 'json' : 'ndjson'));
      const upload = { customerId: caller.customerId, apiKeyId: caller.apiKeyId, idempotencyKey };
      let accepted: NonNullable<Awaited<ReturnType<StoreInline>>> | Staged;
      if (type === JSON_TYPE) {
        const bytes = await readBytes(c, JSON_IMPORT_BYTES);
        // Receiving the body may have taken long, and the API key may have been deleted meanwhile.
        await c.get('requireKey')();
        const { transactions } = check(Movements, parseJson(bytes));
        const issues = await findUnknownAccounts(caller, transactions);
        if (issues.length > 0) throw invalidIssues(issues);
        const received = transactions.length;
        const whole = { ...upload, format: 'json' as const, received, body: [bytes] };
        const inline =
          received > MAX_INLINE ? null : await storeInline({ ...whole, movements: transactions });
        accepted = inline ?? (await stageImport(database, whole));
      } else {
        const how = isStatement ? await readStatementUpload(c, database) : { format: 'ndjson' as const };
        const body = streamBytes(c, NDJSON_IMPORT_BYTES);
        try {
          accepted = await stageImport(database, { ...upload, ...how, received: null, body });
        } finally {
          await body.return(undefined);
        }
      }
      const importId = requireAccepted(accepted);
      if (accepted.outcome === 'staged') {
        // Redis may be unreachable. The import is in MySQL, and the reconciler queues it within 10 s.
        await queueImports(queues, [importId]).catch((err: unknown) =>
          log.warn({ err, importId }, 'import not queued yet'),
        );
      }
      const found =
        accepted.outcome === 'stored' ? inlineRow(accepted) : await findImport(database, caller, importId);
      c.header('Location', `/v1/imports/${importId}`);
      return c.json({ import: viewImport(found) }, 202);
    },
  );
};

/** The row of an inline import, which is known without reading it. */
const inlineRow = ({
  importId,
  received,
  inserted,
  duplicates,
  deliveries,
  storedAt,
}: InlineImport): ImportRow => ({
  id: importId,
  source_id: null,
  status: 'done',
  format: 'json',
  received,
  inserted,
  duplicates,
  rejected: 0,
  deliveries,
  statements: 0,
  warnings: 0,
  received_at: storedAt,
  started_at: storedAt,
  finished_at: storedAt,
  error: null,
});

function requireAccepted(accepted: NonNullable<Awaited<ReturnType<StoreInline>>> | Staged): string {
  switch (accepted.outcome) {
    case 'stored':
    case 'staged':
    case 'replayed':
      return accepted.importId;
    case 'api key deleted':
      throw unknownKey();
    case 'dropped':
      throw new Problem(
        'upload-interrupted',
        'The upload was interrupted, and nothing of it was stored. Send it again.',
        {
          headers: { 'Retry-After': '1' },
        },
      );
    case 'in progress':
      throw requestInProgress();
    case 'key reused':
      throw keyReused();
  }
}
