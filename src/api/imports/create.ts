import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import type { DataSource } from 'typeorm';
import * as v from 'valibot';
import { type ApiEnv, type Caller, createHandlers, maySee } from '../../http/environment.ts';
import { invalid, Problem } from '../../http/problem.ts';
import { type AtOnce, createAtOnce, MOST_AT_ONCE } from '../../importing/at-once.ts';
import type { FormatName } from '../../importing/formats/index.ts';
import { UNKNOWN_ACCOUNT } from '../../importing/importer.ts';
import { type Fault, Movement } from '../../importing/movement.ts';
import { type Staged, stageImport } from '../../importing/stage.ts';
import { queueImports, wakeWebhooks } from '../../queues/wake.ts';
import type { Runtime } from '../../runtime.ts';
import {
  check,
  invalidFaults,
  JSON_IMPORT_BYTES,
  mediaType,
  NDJSON_IMPORT_BYTES,
  parseJson,
  readBytes,
  readQuery,
  requireMediaType,
  streamBytes,
} from '../input.ts';
import { describe } from '../openapi.ts';
import { findImport } from './find.ts';
import { ImportView, viewImport } from './view.ts';

const JSON_TYPE = 'application/json';
const NDJSON_TYPE = 'application/x-ndjson';

const Movements = v.strictObject({ transactions: v.array(Movement, 'must be an array of movements') });

/** Nothing is passed over in silence: whoever sends another parameter would think that it was heeded. */
const query = (format: FormatName) =>
  v.strictObject({
    format: v.optional(v.literal(format, `must be "${format}", which the content type says`)),
  });

const ACCOUNTS = 'SELECT id FROM accounts WHERE customer_id = ?';

/** POST /v1/imports */
export const createImport = ({ database, queues, log }: Runtime) => {
  const storeAtOnce = createAtOnce({ database, wake: (webhookIds) => wakeWebhooks(queues, webhookIds), log });
  return createHandlers(
    describe({
      tag: 'Imports',
      summary: 'Send movements in',
      description:
        'Answered once the bytes are committed; storing and notifying follow, and of a small JSON body storing is often done by then. JSON is checked as a whole and refused as a whole. Of NDJSON each line stands for itself: see /v1/imports/{id}/errors. With Idempotency-Key the same request may be sent again for 24 h.',
      headers: {
        'Idempotency-Key': {
          description:
            'Up to 255 printable ASCII characters. The same key with the same body leads to the same import; with another body it is a 422, and while the first request is being received a 409. See draft-ietf-httpapi-idempotency-key-header.',
          example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
        },
      },
      body: { [JSON_TYPE]: Movements, [NDJSON_TYPE]: null },
      answer: {
        status: 202,
        schema: v.object({ import: ImportView }),
        description: 'Accepted. Location says where to follow it.',
      },
      problems: ['malformed', 'conflict', 'too-large', 'unsupported-media-type', 'invalid'],
    }),
    async (c) => {
      const caller = c.get('caller');
      const idempotencyKey = scopeOf(caller, readIdempotencyKey(c));
      requireMediaType(c, [JSON_TYPE, NDJSON_TYPE]);
      readQuery(c, query(mediaType(c) === JSON_TYPE ? 'json' : 'ndjson'));
      const upload = { customerId: caller.customerId, apiKeyId: caller.apiKeyId, idempotencyKey };
      let accepted: AtOnce | Staged;
      if (mediaType(c) === JSON_TYPE) {
        const bytes = await readBytes(c, JSON_IMPORT_BYTES);
        const { transactions } = check(Movements, parseJson(bytes));
        const faults = await findUnknownAccounts(database, caller, transactions);
        if (faults.length > 0) throw invalidFaults(faults);
        const received = transactions.length;
        const whole = { ...upload, format: 'json' as const, received, body: [bytes] };
        const atOnce =
          received > MOST_AT_ONCE ? null : await storeAtOnce({ ...whole, movements: transactions });
        accepted = atOnce ?? (await stageImport(database, whole));
      } else {
        const body = streamBytes(c, NDJSON_IMPORT_BYTES);
        try {
          accepted = await stageImport(database, { ...upload, format: 'ndjson', received: null, body });
        } finally {
          await body.return(undefined);
        }
      }
      const importId = requireAccepted(accepted);
      // Redis may be away: the import is kept in MySQL, and the reconciler queues it within 10 s.
      const queue = () =>
        queueImports(queues, [importId]).catch((err: unknown) =>
          log.warn({ err, importId }, 'import not queued yet'),
        );
      const [found] = await Promise.all([
        findImport(database, caller, importId),
        accepted.outcome === 'stored' ? accepted.woken : undefined,
        accepted.outcome === 'staged' ? queue() : undefined,
      ]);
      c.header('Location', `/v1/imports/${importId}`);
      return c.json({ import: viewImport(found) }, 202);
    },
  );
};

/** Each movement of an account that the caller cannot see, by its path. */
async function findUnknownAccounts(
  database: DataSource,
  caller: Caller,
  movements: readonly Movement[],
): Promise<Fault[]> {
  const accounts = await database.query<{ id: string }[]>(ACCOUNTS, [caller.customerId]);
  const known = new Set(accounts.map(({ id }) => id).filter((id) => maySee(caller, id)));
  return movements.flatMap(({ account_id }, index) =>
    known.has(account_id)
      ? []
      : [{ path: `transactions.${index}.${UNKNOWN_ACCOUNT.path}`, message: UNKNOWN_ACCOUNT.message }],
  );
}

/** A string of RFC 8941 in quotes, as the draft for this header has it, or the bare text that most clients send. */
function readIdempotencyKey(c: Context<ApiEnv>): string | null {
  const key = c.req.header('idempotency-key');
  if (key === undefined) return null;
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw invalid([{ path: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters' }]);
  }
  return key;
}

/** A key limited to accounts has its Idempotency-Keys to itself: a shared one would lead to an import it may not see. */
function scopeOf({ accountIds, apiKeyId }: Caller, key: string | null): string | null {
  if (key === null || accountIds === 'all') return key;
  return createHash('sha256').update(`${apiKeyId}:${key}`).digest('hex');
}

function requireAccepted(accepted: AtOnce | Staged): string {
  switch (accepted.outcome) {
    case 'stored':
    case 'staged':
    case 'replayed':
      return accepted.importId;
    case 'in progress':
      throw new Problem(
        'conflict',
        'A request with this Idempotency-Key is being received: wait for its answer.',
        {
          headers: { 'Retry-After': '1' },
        },
      );
    case 'key reused':
      throw invalid([
        {
          path: 'Idempotency-Key',
          message: 'was used for another body within 24 h: use a new key for a new import',
        },
      ]);
  }
}
