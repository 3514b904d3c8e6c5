import type { Sql } from '../database/transaction.ts';

/** Reads the audit log. */

export const AUDIT_SOURCES = ['api', 'operator token', 'console', 'command line', 'configuration'] as const;
type AuditSource = (typeof AUDIT_SOURCES)[number];

export interface AuditEvent {
  id: string;
  at: Date;
  /** null: the changed object belongs to no customer. */
  customer_id: string | null;
  /** null: there is no customer, or it does not exist any more. */
  customer: string | null;
  source: AuditSource;
  actor: string;
  action: string;
  subject: string;
  detail: string;
}

interface AuditFilters {
  subject: string | null;
  customerId: string | null;
  source: AuditSource | null;
  /** Only events below this id. */
  before: string;
}

/** The first given filter decides the index. The other filters leave rows out. Each index has the ids in order. */
const INDEXES = {
  subject: 'audit_events_subject',
  customer_id: 'audit_events_customer',
  source: 'audit_events_source',
} as const;

const READ_CHANGES = (index: string, conditions: readonly string[]) => `
  SELECT e.id, e.at, e.customer_id, u.name AS customer, e.source, e.actor, e.action, e.subject, e.detail
  FROM audit_events e FORCE INDEX (${index}) LEFT JOIN customers u ON u.id = e.customer_id
  WHERE ${[...conditions, 'e.id < ?'].join(' AND ')} ORDER BY e.id DESC LIMIT ?`;

/** Reads changes, the newest first. */
export function readAudit(
  sql: Sql,
  { subject, customerId, source, before }: AuditFilters,
  limit: number,
): Promise<AuditEvent[]> {
  const given = [
    ['subject', subject] as const,
    ['customer_id', customerId] as const,
    ['source', source] as const,
  ].filter(([, value]) => value !== null);
  const [first] = given;
  const index = first === undefined ? 'PRIMARY' : INDEXES[first[0]];
  return sql.query<AuditEvent[]>(
    READ_CHANGES(
      index,
      given.map(([column]) => `e.${column} = ?`),
    ),
    [...given.map(([, value]) => value), before, limit],
  );
}
