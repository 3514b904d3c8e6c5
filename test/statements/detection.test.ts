import { describe, expect, it } from 'vitest';
import { looksLikeBai2 } from '../../packages/statements/src/bai2/parse.ts';
import { looksLikeCamt } from '../../packages/statements/src/camt/parse.ts';
import { looksLikeCfonb120 } from '../../packages/statements/src/cfonb120/parse.ts';
import { looksLikeCoda } from '../../packages/statements/src/coda/parse.ts';
import { looksLikeCsv } from '../../packages/statements/src/csv/parse.ts';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { looksLikeMt940, looksLikeMt942 } from '../../packages/statements/src/mt940/parse.ts';
import { looksLikeNorma43 } from '../../packages/statements/src/norma43/parse.ts';
import { looksLikeOfx } from '../../packages/statements/src/ofx/parse.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { ACCOUNT, FILE, GROUP } from './bai2/records.ts';
import { balance } from './cfonb120/records.ts';
import { header, movement } from './coda/records.ts';
import { HEADER as NORMA43 } from './norma43/records.ts';
import { ofxHeader } from './ofx/statement.ts';
import { testProfile } from './profiles/profile.fixture.ts';

const PROFILES = [
  { ...testProfile(), name: 'narrow' },
  { ...testProfile({ heading: ['Date', 'Amount', 'Text', 'Balance', 'Code'] }), name: 'wide' },
];

const LOOKS_LIKE: Record<string, (start: string) => boolean> = {
  mt940: looksLikeMt940,
  mt942: looksLikeMt942,
  camt: looksLikeCamt,
  ofx: looksLikeOfx,
  bai2: looksLikeBai2,
  norma43: looksLikeNorma43,
  cfonb120: looksLikeCfonb120,
  coda: looksLikeCoda,
  csv: (start) => looksLikeCsv(start, PROFILES),
};

const MT940 = ':20:X\r\n:25:1\r\n:28C:1/1\r\n:60F:C261101EUR1,00\r\n:62F:C261101EUR1,00\r\n-';
const ENVELOPE = '{1:F01ABCDTRISAXXX0000000000}{2:O9401200261101ABCDTRISAXXX00000000002611011200N}{4:';
const CAMT = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08';

/** The start of a file, by the formats that it is taken for. MT942 is read like MT940. */
const STARTS: Record<string, Record<string, string>> = {
  mt940: {
    balances: MT940,
    'line ends of one CR': MT940.replaceAll('\r\n', '\r'),
    'an envelope': `${ENVELOPE}\n${MT940}`,
    'an envelope on the line of the first field': `${ENVELOPE}${MT940}`,
    'an envelope in another code page': `ä4:\n${MT940}`,
    'lines before it that are not SWIFT’s': `ABNANL2A\n940\nABNANL2A\n${MT940}`,
    'a byte order mark': `\uFEFF${MT940}`,
    'no balances': ':20:X\n:25:1\n:86:text',
    'an entry alone': ':61:2611011101CR1,00NTRF',
    'an entry alone, with blanks': ':61:261101    D1,00NTRF',
    'a balance alone': '\n:62M:C020315105000,00',
    'half of its first balance': MT940.slice(0, 45),
    'the head of the statement alone': ':20:START\r\n:25:123\r\n',
    'the number of a statement': ':20:STARTUMS\n:25:10010010/1111111111\n:28C:1/1\n',
  },
  'mt940, mt942': {
    'a floor limit': ':20:X\n:25:1\n:34F:EUR0,\n:61:261101C1,00NTRF',
    'a time': ':20:X\n:25:1\n:13D:2611021200+0100\n:61:261101C1,00NTRF',
    'an envelope': `${ENVELOPE.replace('O940', 'O942')}\n:20:X\n:25:1`,
  },
  camt: {
    'a namespace': `<?xml version="1.0"?>\n<Document xmlns="${CAMT}"><BkToCstmrStmt>`,
    'a prefix': `<n0:Document xmlns:n0="${CAMT}">`,
    'a namespace of version 02':
      '<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02">',
    'no namespace': '<Document><BkToCstmrAcctRpt><GrpHdr>',
    'no namespace, and a prefix': '<d:Document><d:BkToCstmrDbtCdtNtfctn>',
    'a byte order mark and blank lines': `\uFEFF\r\n\r\n<Document xmlns="${CAMT}">`,
    'an envelope': '<Envelope><AppHdr><MsgDefIdr>camt.054.001.08</MsgDefIdr></AppHdr>',
    'version 01': '<Document><BkToCstmrAcctRptV01>',
    'a document type declaration, which the parser refuses': `<!DOCTYPE x><Document xmlns="${CAMT}">`,
    'a field of MT940 in a value':
      '<?xml version="1.0"?><Document><BkToCstmrStmt><Id>:20:</Id></BkToCstmrStmt></Document>',
  },
  ofx: {
    'the header of OFX 1': ofxHeader('USASCII', '1252'),
    'blank lines before the header': `\r\n\r\n${ofxHeader('USASCII', '1252')}`,
    'its header on one line': 'OFXHEADER:100DATA:OFXSGMLVERSION:102<OFX>',
    'other headers first': `Content-Type: application/x-ofx\r\n\r\n${ofxHeader('USASCII', '1252')}`,
    'an entry of MT940’s kind of date': 'OFXHEADER:100\nDATA:OFXSGML\n<OFX><DTSERVER>20261101\n',
    'the declaration of OFX 2': '<?xml version="1.0"?>\n<?OFX OFXHEADER="200" VERSION="220"?>\n<OFX>',
    'the declaration of OFX 2.1.1': '<?xml version="1.0"?><?OFX OFXHEADER="200" VERSION="211"?><OFX>',
    'the declaration of XML alone': '<?xml version="1.0"?><OFX>',
    'a comment first': '<?xml version="1.0"?><!-- made by hand --><OFX xmlns="x">',
    'a namespace prefix': '<ofx:OFX xmlns:ofx="http://ofx.net/types/2003/04">',
    'neither header nor declaration': '\n\n<OFX>\n<SIGNONMSGSRSV1>',
    'a byte order mark': '\uFEFF<OFX>',
  },
  cfonb120: {
    'an old balance': balance('01', 100_000),
    'no line ends': `${balance('01', 0)}04`,
    'a byte order mark and blank lines': `\uFEFF\r\n${balance('01', -5)}`,
    'no number of decimals': balance('01', 5, { decimals: ' ' }),
  },
  bai2: {
    'a file header': FILE,
    'blank lines first': `\r\n\r\n${FILE}`,
    'a byte order mark': `\uFEFF${FILE}`,
    'dates with the century': '01,BANKEX,ACME,20260302,0600,1,,,2/',
    'empty sender and receiver': '01,,,260302,0600,1,,,2/',
    'no file header': GROUP,
    'a group': '01,122099999,123456789,261101,1200,1,80,1,2/\n02,031001234,122099999,1,261101,,,2/',
    'no version': '01,122099999,123456789,040621,0200,1,65,,2/\n',
  },
  norma43: {
    'the header of an account': NORMA43,
    'no line ends': `${NORMA43.padEnd(80)}22`,
    'a byte order mark and blank lines': `\uFEFF\r\n${NORMA43}`,
    'an account that begins with blanks': NORMA43.replace('0000123456', '    123456'),
    'no currency': `${NORMA43.slice(0, 47)}   3MOLINO`,
  },
  coda: {
    'a header': `${header()}\r\n`,
    'a header of a duplicate': '0000002032639905D       FILE01',
    'blank lines first': `\r\n\r\n${header()}\r\n`,
    'a byte order mark': `\uFEFF${header()}`,
    'no bank': '00000020326   05        FILE01',
    'a header without blanks at its end': '0000002032639905\r\n12017',
  },
  csv: {
    'the heading of a profile': 'Date;Amount;Text;Balance\n',
    'the heading of two profiles': 'Date;Amount;Text;Balance;Code\n',
    'a heading below other rows': 'Account;1\n\nDate;Amount;Text;Balance\n01.02',
  },
  nothing: {
    'no text': '',
    text: 'Meeting\n:20: minutes',
    'a JSON object': '{"transactions":[]}',
    'JSON with an element of CAMT': '{"message":"<BkToCstmrStmt>"}',
    'JSON with the headings of a profile': '{"Date":1,"Amount":2,"Text":"","Balance":3}',
    'NDJSON with a field of MT940': '{"description":"\\n:20:X\\n:25:1"}\n',
    'MT103, which is no statement':
      '{1:F01ABCDTRISAXXX0000000000}{2:I103ABCDTRISAXXXN}{4:\n:20:X\n:23B:CRED\n:32A:261101EUR1,00\n-}',
    'one field of MT940 that names CAMT': '{1:F01BANKDEFFXXXX}{4:\n:20:camt.053.001.02\n',
    'a CSV with fields of MT940': 'Date;Text;Amount\n2026-11-01;:20: and :25:;1,00\n',
    'a CSV with times': '12:20:15,1\n:25:x\n',
    'a CSV that speaks of CAMT': 'Date;Text\n2026-01-01;camt.053.001.08 <BkToCstmrStmt>',
    'a CSV that names OFX': 'Date;Amount\n2026-03-01;<OFX>',
    'a CSV with a date': '01,02,2026,100.00,Kira\n',
    'a CSV with numbers': '01,1,2,3,4,5',
    'a CSV with another delimiter than the profile’s': 'Date,Amount,Text,Balance\n',
    'a CSV whose heading is cut off': 'Date;Amount;Te',
    'a page that names OFX': '<html><body>OFXHEADER:100</body></html>',
    'another element than that of OFX': '<OFXX>',
    'XML with an element of the name of a heading': '<?xml version="1.0"?><Document><Date/></Document>',
    'another message': '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CstmrCdtTrfInitn>',
    'another camt message': '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.060.001.05"><AcctRptgReq>',
    'a BAI2 account alone': ACCOUNT,
    'a movement of Norma 43 alone': '22    0007260302260302020012000000000050000000000',
    'a number of 48 digits': `11${'9'.repeat(46)}`,
    'a CODA movement alone': movement(1n),
    'a header of another application than CODA': '0000002032639901        FILE01',
  },
};

describe.each(Object.entries(STARTS))('a file is taken for %s', (expected, starts) => {
  it.each(Object.entries(starts))('if it begins with %s', (_, start) => {
    const found = Object.keys(LOOKS_LIKE).filter((name) => LOOKS_LIKE[name]?.(start));
    expect(found.join(', ') || 'nothing').toBe(expected);
    if (found.length > 0)
      expect(createStatementFormats(PROFILES, READ_SETTINGS).detect(Buffer.from(start))).toBe(found.at(-1));
  });
});
