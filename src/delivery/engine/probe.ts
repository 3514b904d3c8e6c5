import type { Sql, WriteResult } from '../../database/transaction.ts';
import { circuitOpenUntil, PROBE_SECONDS, probedUntil } from '../../webhook-record/circuit.ts';

/** The right to probe the endpoint of a template, which one of its webhooks has at a time while the circuit is half-open. */

interface Probing {
  id: string;
  templateId: string;
}

/** Index: the primary keys. */
const CLAIM_PROBE = `
  /* CLAIM_PROBE */ UPDATE webhook_cursors h JOIN webhooks w ON w.id = ?
  SET h.probe_by = w.id, h.probe_until = NOW(6) + INTERVAL ${PROBE_SECONDS} SECOND
  WHERE h.webhook_id = ? AND h.recovery_successes = 0 AND ${circuitOpenUntil('h')} IS NULL
    AND ${probedUntil('w', 'h')} IS NULL`;

const END_PROBE = `
  /* END_PROBE */ UPDATE webhook_cursors SET probe_by = NULL, probe_until = NULL WHERE webhook_id = ? AND probe_by = ?`;

/** Takes the right to probe. @returns false when another webhook has it, or the circuit is not half-open any more. */
export async function claimProbe(sql: Sql, { id, templateId }: Probing): Promise<boolean> {
  const { affectedRows } = await sql.query<WriteResult>(CLAIM_PROBE, [id, templateId]);
  return affectedRows > 0;
}

/** Gives back the right to probe. Another webhook may probe from then on. */
export async function endProbe(sql: Sql, { id, templateId }: Probing): Promise<void> {
  await sql.query(END_PROBE, [templateId, id]);
}
