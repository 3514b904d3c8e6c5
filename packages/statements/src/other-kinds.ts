import { START_BYTES } from './peek.ts';
import { toLatin1 } from './shared/bytes.ts';
import { decodeStart } from './shared/decode.ts';
import { isAppleDocument, isOpenDocument, isOtherOfficeDocument } from './shared/zip-parts.ts';

/**
 * The kinds of files that are sent instead of statements, and are not read. Only the first `START_BYTES` bytes are looked at, and all
 * patterns take linear time.
 */

/** What is known of the beginning of a file. */
interface Beginning {
  bytes: Uint8Array;
  /** A character for each byte. */
  latin1: string;
  /** The decoded text. */
  text(): string;
  /** The first decoded characters of a file that begins with a tag; else empty. */
  markup(): string;
  /** The lines of the decoded text, without a last one that is cut off. */
  lines(): string[];
}

export interface OtherKind {
  /** As in `The file is a PDF`. */
  title: string;
  /** How such a file is recognised, for the documentation. */
  recognisedBy: string;
  /** What its sender can do. */
  advice: string;
  /**
   * `before the formats`: no reader of a format reads such a file, also if its sender names the format. `after the formats`: only asked for
   * what no format and no profile recognises.
   */
  isAsked: 'before the formats' | 'after the formats';
  /** As a file of a zip it is skipped, with a warning. `statements`: it is an error, because the movements are in it. */
  inZip?: 'statements';
  isJson?: true;
  matches(beginning: Beginning): boolean;
}

const ASK = 'ask the bank for the statement as CAMT (camt.053), MT940, OFX, BAI2 or CSV';
const SAVE_AS = 'open it in a spreadsheet program and save it as XLSX or CSV';
const EXPORT = 'export the account as OFX, QFX or CSV';

/** Whether a file begins with one of some bytes, which are given in hexadecimal digits. */
const beginsWith =
  (...signatures: string[]) =>
  ({ bytes }: Beginning): boolean => {
    const beginning = [...bytes.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    return signatures.some((it) => beginning.startsWith(it));
  };

const textMatches =
  (pattern: RegExp) =>
  ({ text }: Beginning): boolean =>
    pattern.test(text());

/** Blanks and a byte order mark before a text of one byte for each character. */
const isMarkup = (latin1: string): boolean => /^[^\w<]*</.test(latin1);
const MARKUP_BYTES = 1024;

/** [MS-OFFCRYPTO], 2.3.4.4: the stream of an encrypted document in a compound file. Names are UTF-16LE [MS-CFB, 2.6.1]. */
const ENCRYPTED_PACKAGE = 'EncryptedPackage'.replaceAll(/./g, '$&\u0000');
/** [MS-DOC], 2.1.1: the stream of a document of Word. */
const WORD_DOCUMENT = 'WordDocument'.replaceAll(/./g, '$&\u0000');
const COMPOUND_FILE = 'd0cf11e0a1b11ae1';

/** Fields that statements have and confirmations do not: a number, a balance, an entry, its details, and the sums of MT942. */
const STATEMENT_FIELD = /(?:^|[\r\n}@]|4:):(?:28C?|34F|6[0-5][FM]?|86|90[CD]):/;
const REFERENCE = /(?:^|[\r\n}@]|4:):20:/;
const ACCOUNT = /[\r\n@]:25P?:/;
const VALUE = /[\r\n@]:32A:\d{6}[A-Z]{3}\d/;
const CONFIRMATION_HEADER = /\{2:[IO]9[01]0/;
/** The header of any message but those of balances and entries: MT940 to 942, 950, and 970 to 972. */
const OTHER_HEADER = /^[^\w{]*\{1:[^:\r\n]{0,80}\{2:[IO](?!94[0-2]|950|97[0-2])\d{3}/;
const PAYMENT_BEGINNING = /^[^\w{:]*(?:\{4:\s*)?:20:/;
const PAYMENT_FIELD = /[\r\n@]:(?:23B|32[AB]|50[A-Z]?):/;

/**
 * Whether a text is MT900 or MT910. Source: SWIFT Standards MT, category 9: they have :20:, :21:, :25: and :32A:, and no balance. A file
 * that has a statement too in its beginning is none.
 */
const isConfirmation = ({ latin1 }: Beginning): boolean =>
  (CONFIRMATION_HEADER.test(latin1) ||
    (VALUE.test(latin1) && REFERENCE.test(latin1) && ACCOUNT.test(latin1))) &&
  !STATEMENT_FIELD.test(latin1);

const isOtherMessage = ({ latin1 }: Beginning): boolean =>
  (OTHER_HEADER.test(latin1) || (PAYMENT_BEGINNING.test(latin1) && PAYMENT_FIELD.test(latin1))) &&
  !STATEMENT_FIELD.test(latin1);

/** A format of records of one length. */
interface Records {
  length: number;
  /** The first record. */
  first: RegExp;
  /** Each of the following records. */
  next: RegExp;
}

/** Whether all lines are records, or the one line that there is consists of them. Blanks at the ends of lines may be missing. */
const hasRecords =
  ({ length, first, next }: Records) =>
  ({ lines }: Beginning): boolean => {
    const [line = '', ...rest] = lines();
    if (!first.test(line)) return false;
    if (rest.length === 0 && line.length > length) {
      for (let at = length; at + length <= line.length; at += length)
        if (!next.test(line.slice(at, at + length))) return false;
      return line.length >= 2 * length;
    }
    return line.length <= length && rest.every((it) => it.length <= length && next.test(it));
  };

/** A message of ISO 20022, by its namespace or its element. */
const message =
  (pattern: RegExp) =>
  ({ markup }: Beginning): boolean =>
    pattern.test(markup());

const PDF: Pick<OtherKind, 'title' | 'advice'> = { title: 'a PDF', advice: ASK };

const HTML =
  /^\s*(?:<\?xml\b[^>]{0,200}>\s*)?(?:<!--(?:(?!-->).){0,500}-->\s*)?<(?:!doctype\s+html|html|head|body|table|meta|style|div)\b/is;

/** Whether the beginning of a file is a page of HTML. */
export const looksLikeHtml = (text: string): boolean => HTML.test(text);

/** A page with tables is read as a workbook is. */
export const WEB_PAGE: OtherKind = {
  title: 'a web page (HTML) without a table',
  recognisedBy: 'the tag of a page, and no row of a table',
  advice: 'download the statement again, as CAMT (camt.053), MT940, OFX, BAI2, XLSX or CSV',
  isAsked: 'before the formats',
  inZip: 'statements',
  matches: ({ bytes, text, markup }) =>
    bytes.length < START_BYTES && looksLikeHtml(markup()) && !/<t[rd]\b/i.test(text()),
};

/** The kinds, in the order in which a file is tested for them. */
const OTHER_KINDS: readonly OtherKind[] = [
  {
    ...PDF,
    // PDF 1.7, annex H, 3.4.1: it may begin within the first 1,024 bytes. A table has letters before it.
    recognisedBy: '`%PDF-`, also after a few bytes',
    isAsked: 'before the formats',
    matches: ({ latin1 }) => /^[^\w"';,:<{[%]*%PDF-/.test(latin1.slice(0, 1024)),
  },
  {
    title: 'an Excel file with a password',
    recognisedBy: 'the signature of a compound file, and `EncryptedPackage`',
    advice: 'open it, remove the password and save it as XLSX or CSV',
    isAsked: 'before the formats',
    inZip: 'statements',
    matches: (file) => beginsWith(COMPOUND_FILE)(file) && file.latin1.includes(ENCRYPTED_PACKAGE),
  },
  {
    title: 'a Word document of the old kind (.doc)',
    recognisedBy: 'the signature of a compound file, and `WordDocument` in the first 8 KiB',
    advice: ASK,
    isAsked: 'before the formats',
    matches: (file) => beginsWith(COMPOUND_FILE)(file) && file.latin1.includes(WORD_DOCUMENT),
  },
  {
    title: 'an Excel file of the old kind (.xls)',
    // [MS-CFB, 2.2], and the first records of BIFF 2 to 8 without it [MS-XLS, 2.4.21].
    recognisedBy: 'the signature of another compound file, or a first record of BIFF',
    advice: SAVE_AS,
    isAsked: 'before the formats',
    inZip: 'statements',
    matches: beginsWith(COMPOUND_FILE, '09000400', '09020600', '09040600', '09080800', '09081000'),
  },
  {
    title: 'an Excel 2003 file of XML',
    // Microsoft, XML Spreadsheet Reference (2001).
    recognisedBy: '`<?mso-application progid="Excel.Sheet"?>`, or the namespace of such a workbook',
    advice: SAVE_AS,
    isAsked: 'before the formats',
    inZip: 'statements',
    matches: message(
      /<\?mso-application\s{1,20}progid\s{0,20}=\s{0,20}["']Excel\.Sheet["']|<(?:\w{1,20}:)?Workbook\s[^<>]*urn:schemas-microsoft-com:office:spreadsheet/,
    ),
  },
  {
    title: 'a spreadsheet of OpenDocument (.ods)',
    recognisedBy: 'a zip that begins with its `mimetype`',
    advice: SAVE_AS,
    isAsked: 'before the formats',
    matches: ({ bytes }) => isOpenDocument(bytes, 'spreadsheet'),
  },
  {
    title: 'a document of OpenDocument (such as .odt)',
    recognisedBy: 'a zip that begins with another `mimetype` of OpenDocument',
    advice: ASK,
    isAsked: 'before the formats',
    matches: ({ bytes }) => isOpenDocument(bytes),
  },
  {
    title: 'a document of Apple Numbers or Pages (.numbers, .pages)',
    recognisedBy: 'a zip with parts such as `Index/Document.iwa`, also in an `Index.zip`',
    advice: 'open the table in Numbers and export it as CSV or Excel (.xlsx)',
    isAsked: 'before the formats',
    matches: ({ bytes }) => isAppleDocument(bytes),
  },
  {
    title: 'a document of Word or PowerPoint (.docx, .pptx)',
    recognisedBy: 'a zip with their parts',
    advice: ASK,
    isAsked: 'before the formats',
    matches: ({ bytes }) => isOtherOfficeDocument(bytes),
  },
  {
    title: 'a text document (RTF)',
    recognisedBy: '`{\\rtf`',
    advice: ASK,
    isAsked: 'before the formats',
    matches: ({ latin1 }) => /^[^\w"';,:<{[]*\{\\rtf\d?/.test(latin1),
  },
  {
    title: 'an image',
    recognisedBy: 'the signatures of PNG, JPEG, GIF and TIFF',
    advice: ASK,
    isAsked: 'before the formats',
    matches: beginsWith('89504e470d0a1a0a', 'ffd8ff', '474946383761', '474946383961', '49492a00', '4d4d002a'),
  },
  {
    title: 'a file of Microsoft Money (.mny)',
    recognisedBy: '`MSISAM Database` in its first bytes',
    advice: EXPORT,
    isAsked: 'before the formats',
    matches: ({ latin1 }) => latin1.startsWith('\u0000\u0001\u0000\u0000MSISAM Database'),
  },
  {
    title: 'an archive of RAR or 7-Zip',
    recognisedBy: 'their signatures',
    advice: 'unpack it, and send its files as they are or in a zip',
    isAsked: 'before the formats',
    matches: beginsWith('526172211a07', '377abcaf271c'),
  },
  WEB_PAGE,
  {
    title: 'a confirmation of one payment (SWIFT MT900 or MT910), no statement',
    recognisedBy: 'the header of MT900 or MT910, or `:20:`, `:25:` and `:32A:`, and no field of a statement',
    advice: 'ask the bank for MT940',
    isAsked: 'before the formats',
    matches: isConfirmation,
  },
  {
    title: 'a SWIFT message of another type, such as MT101 or MT103, no statement',
    recognisedBy: 'the header of another message, or the fields of a payment, and no field of a statement',
    advice: 'ask the bank for MT940',
    isAsked: 'before the formats',
    matches: isOtherMessage,
  },
  {
    ...PDF,
    recognisedBy: '`%PDF-` at the beginning of a line, in the first 1,024 bytes',
    isAsked: 'after the formats',
    matches: ({ latin1 }) => /[\r\n]%PDF-\d/.test(latin1.slice(0, 1024)),
  },
  {
    title: 'a QIF file',
    // Intuit, Quicken Interchange Format.
    recognisedBy: '`!Type:`, `!Account`, `!Option:` or `!Clear:`',
    advice: EXPORT,
    isAsked: 'after the formats',
    matches: textMatches(/^[\uFEFF\s]*!(?:type:|account\s|option:|clear:)/i),
  },
  {
    title: 'an exchange file of 1C (1CClientBankExchange)',
    // 1C, the standard of exchange with "Client of a bank", versions 1.01 to 1.03.
    recognisedBy: 'the first line `1CClientBankExchange`',
    advice: ASK,
    isAsked: 'after the formats',
    matches: textMatches(/^[\uFEFF\s]*1CClientBankExchange\s/i),
  },
  {
    title: 'a CNAB 240 file',
    // FEBRABAN, layout padrão de arquivos, 240 posições: the header of a file.
    recognisedBy: 'lines of 240 characters, the first one `…00000`',
    advice: ASK,
    isAsked: 'after the formats',
    matches: hasRecords({
      length: 240,
      first: /^\d{3}00000.{9}[0-3 ][\d ]{14}/,
      next: /^\d{3}[\d ]{4}[1-59]/,
    }),
  },
  {
    title: 'a CNAB 400 file',
    // The layouts of Brazilian banks of before CNAB 240.
    recognisedBy: 'lines of 400 characters, the first one `02RETORNO` or `01REMESSA`',
    advice: ASK,
    isAsked: 'after the formats',
    matches: hasRecords({ length: 400, first: /^0[12](?:REMESSA|RETORNO|EXTRATO)/, next: /^[1-9]/ }),
  },
  {
    title: 'a GPC (ABO) file',
    // The formats GPC of Czech and Slovak banks: record 074, the balances of a statement.
    recognisedBy: 'lines of at most 130 characters, the first one `074`, the next ones `075` to `079`',
    advice: ASK,
    isAsked: 'after the formats',
    matches: hasRecords({
      length: 130,
      first: /^074\d{16}.{20}\d{6}\d{14}[+-]\d{14}[+-]/,
      next: /^07[4-9]/,
    }),
  },
  {
    title: 'a CBI file (RH) of Italian banks',
    // CBI, Rendicontazione saldi e movimenti di conto corrente: the head record RH, 61 to 65, and EF.
    recognisedBy: 'lines of 120 characters, the first one ` RH`, the next ones ` 61` to ` 65` and ` EF`',
    advice: ASK,
    isAsked: 'after the formats',
    matches: hasRecords({
      length: 120,
      first: /^ RH[A-Z0-9 ]{10}\d{6}/,
      next: /^ (?:RH|6[0-9]|EF)/,
    }),
  },
  {
    title: 'a MultiCash file (AUSZUG.TXT or UMSATZ.TXT)',
    // Omikron, MultiCash: the files of statements and of entries, as SAP describes them for its import.
    recognisedBy: 'lines of `bank;account;number;date;…` without headings',
    advice: 'ask the bank for MT940 or CAMT (camt.053), or export it from the program so',
    isAsked: 'after the formats',
    matches: ({ lines }) => {
      const all = lines();
      return all.length > 0 && all.every((line) => MULTICASH.test(line));
    },
  },
  {
    title: 'an order of payments (pain.001), no statement',
    recognisedBy: 'XML of pain.001',
    advice: 'ask the bank for camt.053',
    isAsked: 'after the formats',
    matches: message(/\bpain\.001\.\d{3}\.\d{2}|<(?:\w{1,20}:)?CstmrCdtTrfInitn\b/),
  },
  {
    title: 'an order of direct debits (pain.008), no statement',
    recognisedBy: 'XML of pain.008',
    advice: 'ask the bank for camt.053',
    isAsked: 'after the formats',
    matches: message(/\bpain\.008\.\d{3}\.\d{2}|<(?:\w{1,20}:)?CstmrDrctDbtInitn\b/),
  },
  {
    title: 'a status report of orders (pain.002), no statement',
    recognisedBy: 'XML of pain.002',
    advice: 'ask the bank for camt.053',
    isAsked: 'after the formats',
    matches: message(/\bpain\.002\.\d{3}\.\d{2}|<(?:\w{1,20}:)?CstmrPmtStsRpt\b/),
  },
  {
    title: 'another message of ISO 20022, no statement',
    recognisedBy: 'XML with the namespace of another message, such as pacs.008 or camt.060',
    advice: 'ask the bank for camt.053',
    isAsked: 'after the formats',
    matches: message(/urn:iso:std:iso:20022:tech:xsd:(?!camt\.05[234])[a-z]{4}\.\d{3}\b/),
  },
  {
    title: 'XML of a kind that is not read',
    recognisedBy: 'a declaration of XML',
    advice: ASK,
    isAsked: 'after the formats',
    matches: message(/^[\uFEFF\s]*<\?xml\s/),
  },
  {
    title: 'JSON',
    recognisedBy: '`{"`, `[{` and the like',
    advice: 'statement files are CAMT, MT940, OFX, BAI2, CSV and XLSX',
    isAsked: 'after the formats',
    isJson: true,
    matches: textMatches(/^[\uFEFF\s]*(?:\{\s*["}]|\[\s*[[{"\]\d-])/),
  },
];

const MULTICASH =
  /^"?[A-Z0-9]{3,15}"?;"?[A-Z0-9/ -]{1,35}"?;"?\d{1,6}"?;"?\d{2}\.\d{2}\.(?:\d{2}){1,2}"?;(?:[^;]*;){4}/;

/** Lists the kinds. */
export const listOtherKinds = (): readonly Omit<OtherKind, 'matches'>[] => OTHER_KINDS;

/**
 * Finds the kind of a file that is not read; null: it is of none of these kinds.
 * @param start the first bytes of the file. No more than `START_BYTES` are looked at.
 */
export function findOtherKind(start: Uint8Array, isAsked: OtherKind['isAsked']): OtherKind | null {
  const beginning = beginningOf(start.subarray(0, START_BYTES));
  return OTHER_KINDS.find((kind) => kind.isAsked === isAsked && kind.matches(beginning)) ?? null;
}

function beginningOf(bytes: Uint8Array): Beginning {
  const latin1 = toLatin1(bytes);
  // Decoding may have to find the encoding. Nearly no file needs that.
  const once = <T>(make: () => T) => {
    let made: { value: T } | null = null;
    return () => {
      made ??= { value: make() };
      return made.value;
    };
  };
  const text = once(() => decodeStart(bytes));
  return {
    bytes,
    latin1,
    text,
    markup: once(() => (isMarkup(latin1) ? decodeStart(bytes.subarray(0, MARKUP_BYTES)) : '')),
    lines: once(() => {
      const lines = text()
        .replace(/^\uFEFF/, '')
        .split(/\r\n|[\r\n]/);
      if (bytes.length === START_BYTES && lines.length > 1) lines.pop();
      // DOS ends a file with the character 26.
      return lines.filter((line) => line.replaceAll('\u001a', '').trim() !== '');
    }),
  };
}
