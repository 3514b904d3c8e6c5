import { cutTo } from '../database/text-columns.ts';

/** Who sends an import: an API key, the source that has collected it, or an operator, by name. */
export type Sender = { apiKeyId: string } | { sourceId: string } | { name: string };

/** The columns of an import that tell its sender. One of them is not NULL. */
export const SENDER_COLUMNS = 'api_key_id, source_id, operator';

/** The values of SENDER_COLUMNS. */
export function senderValues(
  sender: Sender,
): [apiKeyId: string | null, sourceId: string | null, operator: string | null] {
  if ('sourceId' in sender) return [null, sender.sourceId, null];
  if ('name' in sender) return [null, null, cutTo('imports.operator', sender.name)];
  return [sender.apiKeyId, null, null];
}

/** The name of an API key or an operator, for `imports i` and `api_keys k`. NULL: the key was deleted, or a source is the sender. */
export const SENDER_NAME = "COALESCE(CONCAT(k.prefix, '… ', k.title), CONCAT('operator ', i.operator))";
