import { type Zippable, zipSync } from 'fflate';

/** A cell: a text, a number, a shared text by its number, or XML of its own. */
export type TestCell = string | number | { shared: number } | { xml: string };

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const columnName = (at: number): string =>
  at < 26 ? String.fromCharCode(65 + at) : columnName(Math.floor(at / 26) - 1) + columnName(at % 26);

function cellXml(cell: TestCell, reference: string): string {
  if (typeof cell === 'number') return `<c r="${reference}"><v>${cell}</v></c>`;
  if (typeof cell === 'string')
    return cell === '' ? '' : `<c r="${reference}" t="inlineStr"><is><t>${escapeXml(cell)}</t></is></c>`;
  if ('shared' in cell) return `<c r="${reference}" t="s"><v>${cell.shared}</v></c>`;
  return cell.xml;
}

export const sheetXml = (rows: readonly (readonly TestCell[])[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="B1:C3"/><sheetData>${rows
    .map(
      (cells, row) =>
        `<row r="${row + 1}">${cells.map((cell, at) => cellXml(cell, columnName(at) + (row + 1))).join('')}</row>`,
    )
    .join('')}</sheetData></worksheet>`;

/** Makes an XLSX file. Members of `parts` replace or add parts. */
export function workbook({
  rows = [],
  shared = [],
  date1904 = false,
  parts = {},
}: {
  rows?: readonly (readonly TestCell[])[];
  shared?: readonly string[];
  date1904?: boolean;
  parts?: Record<string, string | Uint8Array | null>;
}): Uint8Array {
  const all: Record<string, string | Uint8Array | null> = {
    '[Content_Types].xml': '<Types/>',
    'xl/workbook.xml': `<workbook xmlns:r="x"><workbookPr date1904="${date1904 ? 1 : 0}"/><sheets><sheet name="Hareketler" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
    // Some banks write broken styles. They are not read.
    'xl/styles.xml': '<styleSheet><fills',
    'xl/worksheets/sheet1.xml': sheetXml(rows),
    'xl/sharedStrings.xml': `<sst>${shared.map((text) => `<si><t>${escapeXml(text)}</t></si>`).join('')}</sst>`,
    ...parts,
  };
  const zippable: Zippable = {};
  for (const [name, content] of Object.entries(all)) {
    if (content !== null) zippable[name] = typeof content === 'string' ? Buffer.from(content) : content;
  }
  return zipSync(zippable);
}

/** Yields `bytes` in parts of this size. */
export async function* inBytes(bytes: Uint8Array, size = 16 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
