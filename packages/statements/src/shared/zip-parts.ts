import { toLatin1 } from './bytes.ts';

/** The parts of a zip, by the headers at its beginning. Source: PKWARE, APPNOTE.TXT, 4.3.7, local file header. */

const SIGNATURE = 'PK\u0003\u0004';
const HEADER_LENGTH = 30;
const STORED = 0;
/** The sizes stand behind the part, and not in its header. */
const HAS_DESCRIPTOR = 8;

/** Whether bytes begin a zip. */
export const isZip = (start: Uint8Array): boolean => toLatin1(start.subarray(0, 4)) === SIGNATURE;

/** A part whose header is at the beginning of a zip, and what can be seen of its packed content. */
interface ZipPart {
  name: string;
  content: string;
}

/**
 * Lists the parts whose headers are in the beginning of a zip. A zip within it is one part: its own parts are not listed.
 * @param start the first bytes of a file. Each is looked at a few times at most.
 */
export function partsOf(start: Uint8Array): ZipPart[] {
  const text = toLatin1(start);
  const view = new DataView(start.buffer, start.byteOffset, start.byteLength);
  const parts: ZipPart[] = [];
  let at = 0;
  while (at !== -1 && at + HEADER_LENGTH <= text.length && text.startsWith(SIGNATURE, at)) {
    const nameEnd = at + HEADER_LENGTH + view.getUint16(at + 26, true);
    const contentStart = nameEnd + view.getUint16(at + 28, true);
    const isSizeKnown = (view.getUint16(at + 6, true) & HAS_DESCRIPTOR) === 0;
    const isStored = view.getUint16(at + 8, true) === STORED;
    const size = view.getUint32(at + 18, true);
    const known = contentStart + size;
    // Packed bytes hardly ever have the signature. Bytes that are stored may be those of a zip.
    const next = isSizeKnown ? known : isStored ? -1 : text.indexOf(SIGNATURE, contentStart);
    parts.push({
      name: text.slice(at + HEADER_LENGTH, nameEnd),
      content: isStored ? text.slice(contentStart, isSizeKnown ? known : undefined) : '',
    });
    at = next;
  }
  return parts;
}

/** OpenDocument, part 3, 3.3: the first part is `mimetype`, and is not packed. */
const OPEN_DOCUMENT = 'application/vnd.oasis.opendocument.';

/** Whether the beginning of a file is that of an OpenDocument file. @param kind such as `spreadsheet`; empty: any. */
export function isOpenDocument(start: Uint8Array, kind = ''): boolean {
  const [first] = isZip(start) ? partsOf(start) : [];
  return first?.name === 'mimetype' && first.content.startsWith(OPEN_DOCUMENT + kind);
}

const APPLE_PART = /^(?:Index\/)?\w{1,40}\.iwa/;

/** Whether the beginning of a file is that of Numbers, Pages or Keynote of Apple: packed parts `.iwa`, also in an `Index.zip`. */
export const isAppleDocument = (start: Uint8Array): boolean =>
  isZip(start) &&
  partsOf(start).some(
    ({ name, content }) =>
      /^Index\/(?:Tables\/)?[\w-]{1,60}\.iwa$/.test(name) ||
      (name === 'Index.zip' &&
        content.startsWith(SIGNATURE) &&
        APPLE_PART.test(content.slice(HEADER_LENGTH))),
  );

/** Parts that programs write into documents of Word and PowerPoint. Source: ECMA-376, part 1, 11.3 and 13.3. */
const OFFICE_PART =
  /^(?:word\/(?:document|numbering|settings|styles|fontTable)\.xml|word\/_rels\/|ppt\/presentation\.xml|ppt\/_rels\/)/;

/** Whether the beginning of a file is that of a document of Word or PowerPoint. */
export const isOtherOfficeDocument = (start: Uint8Array): boolean =>
  isZip(start) && partsOf(start).some(({ name }) => OFFICE_PART.test(name));
