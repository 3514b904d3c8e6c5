import { cutBytes, cutCharacters } from '../platform/text.ts';

/**
 * The columns for texts that others write, such as answers of endpoints and messages of banks, and the most that each keeps. The unit is
 * that of the column: characters of a VARCHAR, bytes of a TEXT. The texts of movements are not here: they are checked when they are
 * received, because they are part of what identifies a movement.
 */
const KEPT = {
  'accounts.iban': { characters: 34 },
  'accounts.number': { characters: 64 },
  'accounts.type': { characters: 20 },
  'accounts.title': { characters: 200 },
  'attempts.error': { characters: 255 },
  'attempts.response': { bytes: 4_096 },
  'audit_events.detail': { characters: 500 },
  'banks.name': { characters: 200 },
  'deliveries.error': { characters: 255 },
  'deliveries.response': { bytes: 4_096 },
  'import_errors.message': { characters: 500 },
  'import_errors.path': { characters: 100 },
  // 60 characters less than the column: a sentence about the rows that are stored follows.
  'imports.error': { characters: 440 },
  'imports.operator': { characters: 255 },
  'rejected_batches.response': { bytes: 4_096 },
  'source_files.name': { characters: 1_024 },
  'source_runs.error': { characters: 500 },
  'sources.error': { characters: 500 },
  'statements.number': { characters: 64 },
  'statements.sequence': { characters: 64 },
  'webhook_cursors.last_error': { characters: 255 },
  'webhooks.paused_by': { characters: 255 },
} as const satisfies Record<string, { characters: number } | { bytes: number }>;

export type TextColumn = keyof typeof KEPT;

export const TEXT_COLUMNS = Object.keys(KEPT) as TextColumn[];

/** The beginning of a text, as much as its column keeps, never cut within a character. */
export function cutTo(column: TextColumn, text: string): string {
  const most = KEPT[column];
  return 'bytes' in most ? cutBytes(text, most.bytes) : cutCharacters(text, most.characters);
}
