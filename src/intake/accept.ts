import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { wakeWebhooks } from '../delivery/wake.ts';
import type { EarlierUpload } from '../ledger/earlier-uploads.ts';
import { createGroupCommit } from '../ledger/group-commit.ts';
import type { GroupImport } from '../ledger/group-import.ts';
import type { Movement } from '../ledger/movement.ts';
import { queueImports } from '../platform/queues.ts';
import { type AccountCheck, type CheckedMovements, createAccountCheck } from './account-check.ts';
import type { ViewedImport } from './import-view.ts';
import { findImport } from './imports.ts';
import { type Staged, stageImport, type Upload } from './stage.ts';

/** Accepts imports. A few movements are stored at once, by group commit. Everything else is staged and queued for an importer. */

/** The outcome of an upload: stored, staged, known from an earlier request, or not accepted. */
export type Accepted = ({ outcome: 'stored' } & GroupImport) | EarlierUpload | Staged;

interface ImportAcceptance extends Pick<AccountCheck, 'check' | 'findUnknown'> {
  /**
   * Accepts movements that were checked, with the body that they came in.
   * @param checked.movements null: there are more than the api stores itself.
   */
  acceptMovements(
    upload: Omit<Upload, 'received' | 'body'>,
    checked: Omit<CheckedMovements, 'issues'> & {
      body: readonly Uint8Array[];
      received: number;
      movements: readonly Movement[] | null;
    },
  ): Promise<Accepted>;
  /** Accepts a body while it arrives. */
  acceptBody(upload: Upload): Promise<Accepted>;
}

export function createAcceptance(runtime: Runtime): ImportAcceptance {
  const { database, queues, log, metrics } = runtime;
  const wake = (webhookIds: readonly string[]) => wakeWebhooks(runtime, webhookIds);
  const storeInGroup = createGroupCommit({ database, wake, log, metrics: metrics.imports });
  const accounts = createAccountCheck(database);

  async function acceptBody(upload: Upload): Promise<Accepted> {
    const staged = await stageImport(database, upload);
    if (staged.outcome !== 'staged') return staged;
    const { importId } = staged;
    // Redis may be unreachable. The import is in MySQL, and the reconciler queues it within 10 s.
    await queueImports(queues, [upload.customerId]).catch((err: unknown) =>
      log.warn({ err, importId }, 'import not queued yet'),
    );
    return staged;
  }

  return {
    check: accounts.check,
    findUnknown: accounts.findUnknown,
    acceptBody,
    async acceptMovements(upload, { body, received, movements, removals, needImporter }) {
      const whole = { ...upload, received, body };
      const isStaged = needImporter || movements === null;
      const stored = isStaged ? null : await storeInGroup({ ...whole, movements, removals });
      if (stored !== null) return stored;
      // The cached accounts may be out of date, for example because an account is being deleted.
      accounts.forget(upload.customerId);
      return acceptBody(whole);
    },
  };
}

/** Returns the row of an accepted import. Reads it, unless group commit has just stored the import. */
export function readAccepted(
  { database }: Pick<Runtime, 'database'>,
  caller: Caller,
  accepted: Extract<Accepted, { importId: string }>,
): Promise<ViewedImport> {
  if (accepted.outcome !== 'stored') return findImport(database, caller, accepted.importId);
  const { importId, received, inserted, duplicates, changed, assumed, conflicts, deliveries, storedAt } =
    accepted;
  return Promise.resolve({
    id: importId,
    source_id: null,
    status: 'done',
    format: 'json',
    detected_format: null,
    received,
    inserted,
    duplicates,
    changed,
    assumed_duplicates: assumed,
    assumed_new: 0,
    conflicts,
    rejected: 0,
    deliveries,
    statements: 0,
    warnings: 0,
    received_at: storedAt,
    started_at: storedAt,
    finished_at: storedAt,
    contradicts: null,
    error: null,
  });
}
