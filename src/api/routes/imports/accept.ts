import type { DataSource } from 'typeorm';
import type { Caller } from '../../../customers/caller.ts';
import { findImport, type ImportRow } from '../../../imports/find-import.ts';
import type { GroupImport, StoreInGroup } from '../../../imports/group-commit.ts';
import type { Staged } from '../../../imports/stage.ts';
import { Problem } from '../../../platform/problems/problem.ts';
import { unknownKey } from '../../middleware/authentication.ts';
import { keyReused, requestInProgress } from '../../middleware/idempotency.ts';

/** What became of an upload: stored already, staged, or not accepted. */
export type Accepted = NonNullable<Awaited<ReturnType<StoreInGroup>>> | Staged;

/** The row of an accepted import. @throws {Problem} when it was not accepted. */
export function requireAccepted(
  database: DataSource,
  caller: Caller,
  accepted: Accepted,
): Promise<ImportRow> {
  switch (accepted.outcome) {
    case 'stored':
      return Promise.resolve(storedRow(accepted));
    case 'staged':
    case 'replayed':
      return findImport(database, caller, accepted.importId);
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

/** The row of an import that group commit has stored, which is known without reading it. */
const storedRow = ({
  importId,
  received,
  inserted,
  duplicates,
  deliveries,
  storedAt,
}: GroupImport): ImportRow => ({
  id: importId,
  source_id: null,
  status: 'done',
  format: 'json',
  detected_format: null,
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
