import type { BaiRecord } from './records.ts';

/** Reads the fields of a record in turn. A continuation goes on with the next field, or with the text that has begun. */
export interface FieldReader {
  /** The next field, without blanks around it. Null: there is none, or it may be incomplete since the record is broken off there. */
  next(): string | null;
  /** The next field if a continuation begins with it, and it is not read yet. */
  peekContinuation(): string | null;
  /** All that is left, as one text. Continuations are joined with a blank. */
  rest(): string;
}

export function readFields(record: BaiRecord): FieldReader {
  const { parts } = record;
  const brokenAt = record.brokenAt ?? (record.isCut ? parts.length - 1 : parts.length);
  let part = 0;
  let at = 0;

  const current = (): string | null => {
    const text = parts[part];
    if (text === undefined || at <= text.length) return text ?? null;
    part += 1;
    at = 0;
    return parts[part] ?? null;
  };
  const endOfField = (text: string): number => {
    const comma = text.indexOf(',', at);
    return comma === -1 ? text.length : comma;
  };

  return {
    next() {
      const text = current();
      if (text === null) return null;
      const end = endOfField(text);
      if (end === text.length && part >= brokenAt) return null;
      const field = text.slice(at, end).trim();
      at = end + 1;
      return field;
    },
    peekContinuation() {
      const text = current();
      return text === null || part === 0 || at > 0 ? null : text.slice(at, endOfField(text)).trim();
    },
    rest() {
      const texts = [current()?.slice(at) ?? '', ...parts.slice(part + 1)];
      part = parts.length;
      return texts
        .map((text) => text.trim())
        .filter((text) => text !== '')
        .join(' ');
    },
  };
}

const NO_FIELDS = new Set(['', 'Z', '0', '1', '2']);

/**
 * Reads a funds type and the fields that belong to it: three amounts (S), a date and a time (V), or a number of pairs (D).
 * @returns false if it is none, so that the fields after it may be others
 */
export function skipFunds(fields: FieldReader): boolean {
  const type = fields.next()?.toUpperCase() ?? '';
  if (NO_FIELDS.has(type)) return true;
  const pairs = type === 'D' ? (fields.next() ?? '') : '0';
  const count =
    type === 'S' ? 3 : type === 'V' ? 2 : type === 'D' && /^\d{1,4}$/.test(pairs) ? 2 * Number(pairs) : null;
  for (let i = 0; i < (count ?? 0); i += 1) fields.next();
  return count !== null;
}
