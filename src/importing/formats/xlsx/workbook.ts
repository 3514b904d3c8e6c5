import { posix } from 'node:path';
import { XlsxError } from './xlsx-error.ts';
import { readAllXml } from './xml.ts';
import type { Zip } from './zip.ts';

/** Characters of all shared texts together. They are the one thing that must be in memory while a sheet is read. */
const MAX_SHARED_LENGTH = 48 * 1024 * 1024;

export interface Workbook {
  /** The name of the part with the first sheet. */
  sheet: string;
  epoch: 1900 | 1904;
  /** Texts that cells refer to by number. */
  sharedTexts: readonly string[];
}

/** Reads what is needed for the first sheet (ECMA-376, part 1, sections 18.2 and 18.4). @throws {XlsxError} */
export async function readWorkbook(zip: Zip): Promise<Workbook> {
  const { names, readPart } = zip;
  if (!names.has('xl/workbook.xml')) throw new XlsxError('the file is a zip, and not an XLSX file');
  let epoch: Workbook['epoch'] = 1900;
  let firstId: string | null = null;
  await readAllXml(readPart('xl/workbook.xml'), {
    open(name, attributes) {
      if (name === 'workbookPr' && /^(1|true)$/.test(attributes.date1904 ?? '')) epoch = 1904;
      if (name === 'sheet') firstId ??= attributes['r:id'] ?? null;
    },
  });
  const targets = await readTargets('xl/_rels/workbook.xml.rels', zip);
  const sheet = targets.get(firstId ?? '') ?? 'xl/worksheets/sheet1.xml';
  if (!names.has(sheet)) throw new XlsxError('the file has no sheet');
  const shared = [...names].find((name) => name.toLowerCase() === 'xl/sharedstrings.xml');
  return { sheet, epoch, sharedTexts: shared === undefined ? [] : await readSharedTexts(readPart(shared)) };
}

async function readTargets(part: string, { names, readPart }: Zip): Promise<Map<string, string>> {
  const targets = new Map<string, string>();
  if (!names.has(part)) return targets;
  await readAllXml(readPart(part), {
    open(name, { Id: id, Target: target }) {
      if (name === 'Relationship' && id !== undefined && target !== undefined)
        targets.set(id, target.startsWith('/') ? target.slice(1) : posix.join('xl', target));
    },
  });
  return targets;
}

async function readSharedTexts(bytes: AsyncIterable<Uint8Array>): Promise<string[]> {
  const texts: string[] = [];
  let length = 0;
  let current = '';
  let isText = false;
  let isPhonetic = false;
  await readAllXml(bytes, {
    open(name) {
      if (name === 'si') current = '';
      isText = name === 't' && !isPhonetic;
      isPhonetic ||= name === 'rPh';
    },
    text(text) {
      if (!isText) return;
      current += text;
      length += text.length;
      if (length > MAX_SHARED_LENGTH) {
        throw new XlsxError(
          `the texts of the file have more than ${MAX_SHARED_LENGTH / 1024 / 1024} Mi characters`,
        );
      }
    },
    close(name) {
      isText = false;
      if (name === 'rPh') isPhonetic = false;
      if (name === 'si') texts.push(current);
      if (texts.length > MAX_SHARED_LENGTH / 16) throw new XlsxError('the file has too many texts');
    },
  });
  return texts;
}
