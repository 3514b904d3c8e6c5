import type { Field } from '../fields.ts';
import { readFreeText } from './free-text.ts';
import { readNumberedLines } from './numbered-lines.ts';
import { hasSlashTags, readSlashTags } from './slash-tags.ts';
import { readSubFields, separatorOf } from './sub-fields.ts';
import { type Details, NO_DETAILS } from './text.ts';

/** Reads the fields :86: (there may be several) or :NS: that follow an entry. */
export function readDetails(fields: readonly Field[]): Details {
  const lines = linesOf(fields, '86');
  if (lines.some((line) => line.trim() !== '')) return readText(lines);
  const numbered = linesOf(fields, 'NS');
  return numbered.length === 0 ? NO_DETAILS : readNumberedLines(numbered);
}

/** What tells the structure stands among the first characters, perhaps after some blanks. */
const LONG = 60;

/** Nearly all entries have one field. */
function linesOf(fields: readonly Field[], tag: string): readonly string[] {
  const [first] = fields;
  if (fields.length === 1 && first?.tag === tag) return first.lines;
  return fields.flatMap((field) => (field.tag === tag ? field.lines : []));
}

function readText(lines: readonly string[]): Details {
  const [first = '', second = ''] = lines;
  const start = (first.length < LONG ? first + second : first).trimStart();
  const separator = separatorOf(start);
  if (separator !== null) return readSubFields(lines, separator);
  return hasSlashTags(start) ? readSlashTags(lines) : readFreeText(lines);
}
