import { Counter, type Registry } from 'prom-client';

/**
 * How an import ended. `unreadable`: the importer could not read its file, which its sender has to correct. `given_up`: reading on has
 * failed ten times in a row.
 */
const OUTCOMES = ['done', 'unreadable', 'given_up'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** Rows of imports whose transaction is committed. */
export interface CountedRows {
  stored: number;
  /** Known already. */
  duplicate: number;
  /** Could not be read. */
  rejected: number;
}

export interface ImportMetrics {
  /** Announces the formats that this process imports, so that their counters begin at 0. */
  announce(formats: readonly string[]): void;
  rows(rows: CountedRows): void;
  /** @param count how many imports of this format have ended. */
  ended(format: string, outcome: Outcome, count?: number): void;
}

export function createImportMetrics(registry: Registry): ImportMetrics {
  const registers = [registry];
  const imports = new Counter({
    name: 'ledgerbell_imports_total',
    help: 'Imports that have ended, by the format they were sent as and by outcome.',
    labelNames: ['format', 'outcome'],
    registers,
  });
  const rows = new Counter({
    name: 'ledgerbell_import_rows_total',
    help: 'Rows of imports: stored, duplicates of stored movements, and rejected.',
    labelNames: ['result'],
    registers,
  });
  const RESULTS = ['stored', 'duplicate', 'rejected'] as const;
  for (const result of RESULTS) rows.inc({ result }, 0);

  return {
    announce(formats) {
      for (const format of formats) for (const outcome of OUTCOMES) imports.inc({ format, outcome }, 0);
    },
    rows(counted) {
      for (const result of RESULTS) if (counted[result] > 0) rows.inc({ result }, counted[result]);
    },
    ended: (format, outcome, count = 1) => imports.inc({ format, outcome }, count),
  };
}
