import { zipSync } from 'fflate';

/** Small files of kinds that are not read, made for tests. */

const bytes = (text: string, encoding: BufferEncoding = 'utf8') => Buffer.from(text, encoding);
const hex = (digits: string) => Buffer.concat([Buffer.from(digits, 'hex'), Buffer.alloc(2_000, 7)]);
const zip = (parts: Record<string, string | Uint8Array>, level: 0 | 6 = 6) =>
  Buffer.from(
    zipSync(
      Object.fromEntries(
        Object.entries(parts).map(([name, content]) => [
          name,
          [Buffer.from(content as string), { level: name === 'mimetype' ? 0 : level }],
        ]),
      ),
    ),
  );

const MIMETYPE = 'application/vnd.oasis.opendocument.';
const TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>';
const records = (length: number, ...lines: string[]) =>
  lines.map((line) => `${line.padEnd(length)}\r\n`).join('');

const GPC = records(
  128,
  `0740000000000123456${'MLYN'.padEnd(20)}01032600000000010000+00000000015000+`,
  '0750000000000123456000000000098765400000000000010000000005000',
);
const CBI = records(120, ' RH9999988888020326', ' 61000000100001', ' 62000000100001020326', ' EF9999988888');
const CNAB_240 = records(
  240,
  `99900000${' '.repeat(9)}211222333000144`,
  '99900011E0440033 211222333000144',
  '9990001300001E',
  '99900015',
  '99999999',
);
const CNAB_400 = records(400, '02RETORNO01COBRANCA', '10211222333000144', '9201');
const AUSZUG =
  '99988877;0001234567;12;02.03.26;EUR;100,00;5,00;0,00;95,00;MUEHLE;;02.03.26;\r\n99988877;0001234567;13;03.03.26;EUR;95,00;5,00;0,00;90,00;MUEHLE;;03.03.26;\r\n';
const UMSATZ = '99988877;0001234567;00012;02.03.26;02.03.26;MEHL;;;;-5,00;;;;;\n';

const CONFIRMATION = ':20:MILL1\r\n:21:NONREF\r\n:25:0001234567\r\n:32A:260302EUR5,00\r\n:52A:BANKXXXX\r\n';
const header = (type: string) => `{1:F01BANKXXXXAXXX0000000000}{2:${type}BANKXXXXAXXXN}{4:\r\n`;

/** XML of a message of ISO 20022. */
const xml = (name: string, element: string) =>
  `<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:${name}"><${element}/></Document>`;

const EXCHANGE = '1CClientBankExchange\r\nВерсияФормата=1.03\r\nКодировка=Windows\r\n';
/** The letters of А to я in windows-1251. */
const windows1251 = (text: string) =>
  Buffer.from(
    [...text].map((it) => (it.charCodeAt(0) < 128 ? it.charCodeAt(0) : it.charCodeAt(0) - 0x410 + 0xc0)),
  );

/** By a word of its message, files of a kind. */
export const OTHER_FILES: readonly (readonly [title: string, which: string, file: Uint8Array])[] = [
  ['a PDF', 'as it is', bytes('%PDF-1.7\n%âãÏÓ\n')],
  ['a PDF', 'after a few bytes', bytes('\uFEFF\r\n\u0000\u0001%PDF-1.4\n')],
  ['a PDF', 'after a line', bytes('HTTP/1.1 200 OK\r\n\r\n%PDF-1.4\n')],
  [
    'an Excel file with a password',
    'of a compound file',
    Buffer.concat([hex('d0cf11e0a1b11ae1'), bytes('EncryptedPackage', 'utf16le')]),
  ],
  [
    'a Word document of the old kind (.doc)',
    'of a compound file',
    Buffer.concat([hex('d0cf11e0a1b11ae1'), bytes('WordDocument', 'utf16le')]),
  ],
  ['an Excel file of the old kind (.xls)', 'of a compound file', hex('d0cf11e0a1b11ae1')],
  ['an Excel file of the old kind (.xls)', 'of BIFF 2', hex('0900040002001000')],
  ['an Excel file of the old kind (.xls)', 'of BIFF 3', hex('0902060000001000')],
  ['an Excel file of the old kind (.xls)', 'of BIFF 4', hex('0904060000001000')],
  ['an Excel file of the old kind (.xls)', 'of BIFF 5', hex('0908080000051000')],
  ['an Excel file of the old kind (.xls)', 'of BIFF 8', hex('0908100000061000')],
  [
    'an Excel 2003 file of XML',
    'with its instruction',
    bytes(
      '<?xml version="1.0"?>\r\n<?mso-application progid="Excel.Sheet"?>\r\n<Workbook><Table/></Workbook>',
    ),
  ],
  [
    'an Excel 2003 file of XML',
    'with its namespace',
    bytes('\uFEFF<ss:Workbook\n xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><ss:Table/>'),
  ],
  [
    'an Excel 2003 file of XML',
    'in UTF-16',
    bytes('\uFEFF<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet">', 'utf16le'),
  ],
  [
    'a spreadsheet of OpenDocument (.ods)',
    'as a zip',
    zip({ mimetype: `${MIMETYPE}spreadsheet`, 'content.xml': '<x/>' }),
  ],
  [
    'a document of OpenDocument (such as .odt)',
    'as a zip',
    zip({ mimetype: `${MIMETYPE}text`, 'a.xml': 'x' }),
  ],
  [
    'a document of Apple Numbers or Pages',
    'with parts',
    zip({ 'preview.jpg': 'x', 'Index/Document.iwa': 'x'.repeat(900), 'Index/ViewState.iwa': 'y' }),
  ],
  [
    'a document of Apple Numbers or Pages',
    'with parts that are not packed',
    zip({ 'Index/Document.iwa': 'x'.repeat(900), 'Index/ViewState.iwa': 'y' }, 0),
  ],
  [
    'a document of Apple Numbers or Pages',
    'with a zip of its parts',
    zip({ 'Index.zip': zip({ 'Document.iwa': 'x' }, 0), 'preview.jpg': 'x' }, 0),
  ],
  [
    'a document of Word or PowerPoint',
    'of Word',
    zip({ '[Content_Types].xml': TYPES, '_rels/.rels': '<x/>', 'word/document.xml': '<x/>' }),
  ],
  [
    'a document of Word or PowerPoint',
    'of PowerPoint, whose types are the last part',
    zip({ 'ppt/presentation.xml': '<x/>', '[Content_Types].xml': TYPES }),
  ],
  ['a text document (RTF)', 'as it is', bytes('{\\rtf1\\ansi Statement\\par}')],
  ['an image', 'of PNG', hex('89504e470d0a1a0a')],
  ['an image', 'of JPEG', hex('ffd8ffe000104a464946')],
  ['an image', 'of GIF', bytes('GIF89a\u0001')],
  ['an image', 'of TIFF', hex('49492a0008000000')],
  ['a file of Microsoft Money (.mny)', 'as it is', bytes('\u0000\u0001\u0000\u0000MSISAM Database\u0000')],
  ['an archive of RAR or 7-Zip', 'of RAR', hex('526172211a070100')],
  ['an archive of RAR or 7-Zip', 'of 7-Zip', hex('377abcaf271c0004')],
  ['a web page (HTML)', 'with a type', bytes('\r\n<!DOCTYPE html><html><body>Log in</body></html>')],
  ['a web page (HTML)', 'with a comment', bytes('<!-- x --><head><title>1</title></head>')],
  ['a confirmation of one payment', 'MT900', bytes(`${header('O900')}${CONFIRMATION}-}`)],
  ['a confirmation of one payment', 'MT910', bytes(`${header('I910')}${CONFIRMATION}:50K:/1\r\nMILL\r\n-}`)],
  ['a confirmation of one payment', 'without a header', bytes(CONFIRMATION)],
  ['a confirmation of one payment', 'many', bytes(`${header('O910')}${CONFIRMATION}-}\r\n`.repeat(200))],
  [
    'a confirmation of one payment',
    'with @@ as line ends',
    bytes(`@@${CONFIRMATION.replaceAll('\r\n', '@@')}`),
  ],
  ['a SWIFT message of another type', 'MT101', bytes(`${header('I101')}:20:A\r\n:28D:1/1\r\n:25:1\r\n-}`)],
  [
    'a SWIFT message of another type',
    'MT103',
    bytes(`${header('O103')}:20:A\r\n:23B:CRED\r\n:32A:260302EUR5,\r\n-}`),
  ],
  ['a SWIFT message of another type', 'without a header', bytes(':20:A\n:23B:CRED\n:32A:260302EUR5,\n')],
  ['a QIF file', 'of a type', bytes('!Type:Bank\nD02/03/2026\nT-5.00\nPMill\n^\n')],
  ['a QIF file', 'of an account', bytes('\uFEFF\r\n!Account\r\nNMill\r\nTBank\r\n^\r\n')],
  ['an exchange file of 1C', 'in UTF-8', bytes(EXCHANGE)],
  ['an exchange file of 1C', 'in windows-1251', windows1251(EXCHANGE)],
  ['a CNAB 240 file', 'as it is', bytes(CNAB_240)],
  ['a CNAB 400 file', 'as it is', bytes(CNAB_400)],
  ['a GPC (ABO) file', 'as it is', bytes(GPC)],
  ['a CBI file (RH)', 'as it is', bytes(`${CBI}\u001a`)],
  ['a MultiCash file', 'of statements', bytes(AUSZUG)],
  ['a MultiCash file', 'of entries', bytes(UMSATZ)],
  ['an order of payments (pain.001)', 'by its namespace', bytes(xml('pain.001.001.09', 'X'))],
  ['an order of payments (pain.001)', 'by its element', bytes('<Document><CstmrCdtTrfInitn/></Document>')],
  ['an order of direct debits (pain.008)', 'as it is', bytes(xml('pain.008.001.02', 'CstmrDrctDbtInitn'))],
  ['a status report of orders (pain.002)', 'as it is', bytes(xml('pain.002.001.03', 'CstmrPmtStsRpt'))],
  ['another message of ISO 20022', 'pacs.008', bytes(xml('pacs.008.001.08', 'FIToFICstmrCdtTrf'))],
  ['another message of ISO 20022', 'camt.060', bytes(xml('camt.060.001.05', 'AcctRptgReq'))],
  ['XML of a kind that is not read', 'an invoice', bytes('<?xml version="1.0"?><Invoice/>')],
  ['JSON', 'an object', bytes('{"transactions":[]}')],
  ['JSON', 'a list', bytes('[\n {"amount": 1}\n]')],
];
