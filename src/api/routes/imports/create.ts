import type { Context } from 'hono';
import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { unknownKey } from '../../../http/admission.ts';
import { type ApiEnv, createMiddleware } from '../../../http/app.ts';
import {
  declaredBytes,
  keyReused,
  malformedJson,
  mediaType,
  RESOURCE_BYTES,
  readBytes,
  readIdempotencyKey,
  readQuery,
  requestInProgress,
  requireMediaType,
  streamBytes,
} from '../../../http/input.ts';
import { type Accepted, createAcceptance, readAccepted } from '../../../intake/accept.ts';
import type { CheckedMovements, PlacedMovement } from '../../../intake/account-check.ts';
import { DryRunView } from '../../../intake/dry-run-view.ts';
import { createDryRuns } from '../../../intake/dry-runs.ts';
import { ImportView, viewImport } from '../../../intake/import-view.ts';
import { ITEM_BYTES, MalformedJsonError, readJsonBody, TOO_LONG } from '../../../intake/json-body.ts';
import type { FileReader } from '../../../intake/parser-threads.ts';
import { isFormatName, JSON_IMPORT_BYTES, NDJSON_IMPORT_BYTES, type Upload } from '../../../intake/stage.ts';
import { MAX_GROUP_MOVEMENTS } from '../../../ledger/group-commit.ts';
import { Movement, UNKNOWN_ACCOUNT } from '../../../ledger/movement.ts';
import { createBudget } from '../../../platform/budget.ts';
import { KEY_HOURS } from '../../../platform/idempotency-key.ts';
import { Problem, placeIssue, type ValidationIssue } from '../../../platform/problem.ts';
import { invalidIssues, MAX_ISSUES, toValidationIssue } from '../../../platform/validation.ts';
import { Id } from '../../../platform/whole-numbers.ts';
import type { AddRoute } from '../route.ts';
import {
  MULTIPART_TYPE,
  MultipartForm,
  readMultipartFile,
  readStatementUpload,
  requireReadable,
  STATEMENT_TYPES,
  UploadQuery,
} from './statement-upload.ts';

/** The route that receives imports: as JSON, as NDJSON, or as a bank's file. */

const JSON_TYPE = 'application/json';
const NDJSON_TYPE = 'application/x-ndjson';

/** The body of an import as JSON. */
export const NewImport = v.strictObject({ transactions: v.array(Movement, 'must be an array of movements') });

/** The account of a movement in which something else is wrong. */
const AccountOnly = v.object({ account_id: Id });

/** Refuses other parameters, because a client would think that they had an effect. */
const query = (format: 'json' | 'ndjson') =>
  v.strictObject({
    // Accepts the defaults for statement files too, because generated clients send the defaults of the document.
    format: v.optional(v.picklist([format, 'auto'], `must be "${format}" or "auto" for this content type`)),
    create_accounts: v.optional(v.literal('false', 'must be "false" for this content type')),
    force_account: v.optional(v.literal('false', 'must be "false" for this content type')),
    unidentified: UploadQuery.entries.unidentified,
    dry_run: UploadQuery.entries.dry_run,
  });

/** The format of the body, and how to read it. */
type Sent = Pick<Upload, 'format' | 'statement' | 'unidentified'> & { isDryRun: boolean };

/** Movements of a JSON body that were read and checked. */
type ReadMovements = Omit<CheckedMovements, 'issues'> & {
  bytes: Buffer;
  received: number;
  /** null: there are more than the api stores itself. */
  movements: Movement[] | null;
};

/** Adds `POST /v1/imports`. @param reader of statement files. */
export function addUploadRoute(route: AddRoute, runtime: Runtime, reader: FileReader): void {
  const { database } = runtime;
  const acceptance = createAcceptance(runtime);
  const answerDryRun = createDryRuns(database, reader);

  /** @throws {Problem} when the type or a parameter is wrong. */
  async function readHow(c: Context<ApiEnv>): Promise<Sent> {
    const type = mediaType(c);
    const isStatement = (STATEMENT_TYPES as readonly string[]).includes(type);
    const accepted = [JSON_TYPE, NDJSON_TYPE, MULTIPART_TYPE, ...STATEMENT_TYPES];
    requireMediaType(c, accepted, isStatement ? ['gzip'] : []);
    if (isStatement || type === MULTIPART_TYPE) return readStatementUpload(c, database);
    const format = type === JSON_TYPE ? 'json' : 'ndjson';
    const { unidentified, dry_run } = readQuery(c, query(format));
    return { format, unidentified, isDryRun: dry_run === 'true' };
  }

  /** @throws {Problem} when the body is not JSON of movements of the caller's accounts. */
  async function readMovements(c: Context<ApiEnv>): Promise<ReadMovements> {
    const bytes = await readBytes(c, JSON_IMPORT_BYTES);
    // The API key may have been deleted while the body was received.
    await c.get('requireKey')();
    const read: ReadMovements = {
      bytes,
      received: 0,
      movements: [],
      removals: Number.POSITIVE_INFINITY,
      needImporter: false,
    };
    const issues: ValidationIssue[] = [];
    try {
      const { shell, items } = await readJsonBody(bytes, 'transactions');
      const whole = v.safeParse(NewImport, shell);
      for await (const values of items()) {
        issues.push(...(await checkItems(c, values, read)));
        if (issues.length >= MAX_ISSUES) break;
      }
      issues.push(...(whole.issues ?? []).map(toValidationIssue));
    } catch (error) {
      if (error instanceof MalformedJsonError) throw malformedJson();
      throw error;
    }
    if (issues.length > 0) throw invalidIssues(issues);
    // An empty body is checked too, because the removals of its customer count.
    if (read.received === 0) await checkItems(c, [], read);
    return read;
  }

  /** Adds movements to those that were read. @returns what is wrong with them. */
  async function checkItems(
    c: Context<ApiEnv>,
    values: readonly unknown[],
    read: ReadMovements,
  ): Promise<ValidationIssue[]> {
    const caller = c.get('caller');
    const placed: PlacedMovement[] = [];
    const issues: ValidationIssue[] = [];
    /** The accounts of movements in which something else is wrong, so that one answer names all that is wrong. */
    const others: { place: number; id: string }[] = [];
    for (const [index, value] of values.entries()) {
      const place = read.received + index;
      const path = `transactions.${place}`;
      const result = value === TOO_LONG ? null : v.safeParse(Movement, value, { abortPipeEarly: true });
      if (result === null) issues.push({ path, message: `must be at most ${ITEM_BYTES / 1024} KiB long` });
      else if (result.success) placed.push({ place, movement: result.output });
      else {
        issues.push(...result.issues.map(toValidationIssue).map((it) => placeIssue(path, it)));
        const account = v.safeParse(AccountOnly, value);
        if (account.success) others.push({ place, id: account.output.account_id });
      }
    }
    const ids = others.map(({ id }) => id);
    const unknown = ids.length === 0 ? new Set() : await acceptance.findUnknown(caller, ids);
    for (const { place, id } of others)
      if (unknown.has(id)) issues.push({ ...UNKNOWN_ACCOUNT, path: `transactions.${place}.account_id` });
    const checked = await acceptance.check(caller, placed);
    read.received += values.length;
    const isInline = read.received <= MAX_GROUP_MOVEMENTS;
    if (isInline) read.movements?.push(...placed.map(({ movement }) => movement));
    else read.movements = null;
    read.removals = Math.min(read.removals, checked.removals);
    read.needImporter ||= checked.needImporter;
    return [...issues, ...checked.issues];
  }

  /** Calls `use` with the body as it arrives. @throws {Problem} when the beginning of a file shows that the file cannot be read. */
  async function streamBody<T>(
    c: Context<ApiEnv>,
    { format, statement }: Sent,
    use: (body: AsyncIterable<Uint8Array>) => Promise<T>,
  ): Promise<T> {
    const bytes = streamBytes(c, NDJSON_IMPORT_BYTES);
    const isForm = mediaType(c) === MULTIPART_TYPE;
    const body = isForm ? readMultipartFile(bytes, c.req.header('content-type') ?? '') : bytes;
    try {
      if (isFormatName(format)) return await use(body);
      const profile = statement?.profile ?? null;
      const owner = c.get('caller').customerId;
      return await use(await requireReadable(body, { reader, owner, format, profile }));
    } finally {
      // Not awaited, because a client that is refused may never send the rest.
      body.return(undefined).catch(() => {});
    }
  }

  async function accept(c: Context<ApiEnv>, sent: Sent, idempotencyKey: string | null): Promise<Accepted> {
    const { customerId, actor: sender } = c.get('caller');
    const { format, statement, unidentified = 'known' } = sent;
    const traceparent = c.get('span')?.traceparent;
    const upload = { customerId, sender, format, unidentified, idempotencyKey, traceparent };
    if (format === 'json') {
      const { bytes, ...checked } = await readMovements(c);
      return acceptance.acceptMovements(upload, { ...checked, body: [bytes] });
    }
    const how = statement === undefined ? {} : { statement };
    return streamBody(c, sent, (body) => acceptance.acceptBody({ ...upload, ...how, received: null, body }));
  }

  async function runDry(c: Context<ApiEnv>, sent: Sent): Promise<v.InferOutput<typeof DryRunView>> {
    const caller = c.get('caller');
    if (sent.format === 'json') {
      const { bytes } = await readMovements(c);
      return answerDryRun(caller, { ...sent, body: [bytes] });
    }
    return streamBody(c, sent, (body) => answerDryRun(caller, { ...sent, body }));
  }

  route('POST /v1/imports', {
    tag: 'Imports',
    scope: 'import',
    idempotent: 'in its own way',
    operationId: 'createImport',
    summary: 'Import movements',
    description: `The answer is sent when the body is committed. The movements are stored and notified afterwards; those of a small JSON body are often stored already. A JSON body is checked as a whole, and refused as a whole. In NDJSON each line is checked alone: GET /v1/imports/{id}/errors lists the rejected ones. A statement file (MT940, MT942, CAMT, OFX, CSV, XLSX, BAI2, Norma 43, CFONB 120 or CODA; also in gzip or zip) is sent as it is, or as the field file of a form. One that is recognised as nothing is refused; one that cannot be read further on ends as failed. With dry_run=true nothing is stored: the answer is 200 with what would be. You can repeat a request safely for ${KEY_HOURS} hours if you send an Idempotency-Key.`,
    query: UploadQuery,
    body: {
      [JSON_TYPE]: NewImport,
      [NDJSON_TYPE]: null,
      [MULTIPART_TYPE]: MultipartForm,
      ...Object.fromEntries(STATEMENT_TYPES.map((type) => [type, null])),
    },
    answer: {
      status: 202,
      schema: v.object({ import: ImportView }),
      description: 'The accepted import. Follow it at the path in the header Location.',
      headers: ['Location'],
      statuses: {
        200: { description: 'With dry_run=true: what an import would store.', schema: DryRunView },
      },
    },
    problems: [
      'upload-interrupted',
      'overloaded',
      'unreadable-file',
      'malformed-multipart',
      'request-timeout',
    ],
    handle: async (c) => {
      const idempotencyKey = readIdempotencyKey(c);
      const sent = await readHow(c);
      if (sent.isDryRun) {
        const answer = await runDry(c, sent);
        await c.get('requireKey')();
        return c.json(answer, 200);
      }
      const accepted = await accept(c, sent, idempotencyKey);
      const found = await readAccepted(runtime, c.get('caller'), requireAccepted(accepted));
      c.get('span')?.set({ 'ledgerbell.import.id': Number(found.id) });
      c.header('Location', `/v1/imports/${found.id}`);
      return c.json({ import: await viewImport(database, found) }, 202);
    },
  });
}

/** @throws {Problem} when the upload was not accepted. */
function requireAccepted(accepted: Accepted): Extract<Accepted, { importId: string }> {
  switch (accepted.outcome) {
    case 'stored':
    case 'staged':
    case 'replayed':
      return accepted;
    case 'api key deleted':
      throw unknownKey();
    case 'dropped':
      throw new Problem(
        'upload-interrupted',
        'The upload was interrupted, and nothing of it was stored. Send it again.',
        { headers: { 'Retry-After': '1' } },
      );
    case 'in progress':
      throw requestInProgress();
    case 'key reused':
      throw keyReused();
  }
}

const MIB = 1024 * 1024;

/** The most bytes of JSON imports that a process holds in memory at the same time. */
const TOTAL_BYTES = 64 * MIB;

/** The same for one customer: one body of the largest size. So a customer that sends slowly does not delay the others. */
const CUSTOMER_BYTES = JSON_IMPORT_BYTES;

/** How many a customer sends at the same time. Each of them gets a part of each pass of the event loop. */
const CUSTOMER_BODIES = 4;

/** How long a request waits before it is refused. Milliseconds. */
const PATIENCE = 5_000;

/**
 * Limits the memory that JSON imports take together, because the bytes of each are read as a whole. A request that would exceed the limit
 * waits for up to 5 s without its body being read. If it still exceeds the limit then, the answer is 503 with `Retry-After`. Bodies up
 * to 256 KiB, the limit of all other routes, do not count. NDJSON is read in parts, so it needs no limit.
 */
export function limitImportMemory() {
  const budget = createBudget({ total: TOTAL_BYTES, perOwner: CUSTOMER_BYTES, patience: PATIENCE });
  const places = createBudget({
    total: Number.POSITIVE_INFINITY,
    perOwner: CUSTOMER_BODIES,
    patience: PATIENCE,
  });
  return createMiddleware(async (c, next) => {
    if (mediaType(c) !== 'application/json') return next();
    const bytes = declaredBytes(c, JSON_IMPORT_BYTES);
    if (bytes <= RESOURCE_BYTES) return next();
    const { customerId } = c.get('caller');
    const leave = await places.reserve(customerId, 1);
    const release = leave === null ? null : await budget.reserve(customerId, bytes);
    if (leave === null || release === null) {
      leave?.();
      throw new Problem(
        'overloaded',
        'Too many large JSON imports are being read. Send this one again later, in smaller bodies, or as NDJSON.',
        { headers: { 'Retry-After': String(PATIENCE / 1_000) } },
      );
    }
    try {
      await next();
    } finally {
      release();
      leave();
    }
  });
}
