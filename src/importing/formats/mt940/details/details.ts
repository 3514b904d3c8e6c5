import type { Field } from '../fields.ts';
import { readFreeText } from './free-text.ts';
import { readNumberedLines } from './numbered-lines.ts';
import { hasSlashTags, readSlashTags } from './slash-tags.ts';
import { readSubFields, separatorOf } from './sub-fields.ts';
import { type Details, NO_DETAILS } from './text.ts';

/** Reads the fields :86: (there may be several) or :NS: that follow an entry. */
export function readDetails(fields: readonly Field[]): Details {
  const lines = fields.flatMap(({ tag, lines }) => (tag === '86' ? lines : []));
  if (lines.some((line) => line.trim() !== '')) return readText(lines);
  const numbered = fields.flatMap(({ tag, lines }) => (tag === 'NS' ? lines : []));
  return numbered.length === 0 ? NO_DETAILS : readNumberedLines(numbered);
}

function readText(lines: readonly string[]): Details {
  const start = lines.slice(0, 2).join('').trimStart();
  const separator = separatorOf(start);
  if (separator !== null) return readSubFields(lines, separator);
  return hasSlashTags(start) ? readSlashTags(lines) : readFreeText(lines);
}
