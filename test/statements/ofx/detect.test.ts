import { describe, expect, it } from 'vitest';
import { encodingOf, looksLikeOfx } from '../../../src/statements/ofx/parse.ts';

const header = (encoding: string, charset: string) =>
  `OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\nSECURITY:NONE\r\nENCODING:${encoding}\r\nCHARSET:${charset}\r\n` +
  'COMPRESSION:NONE\r\nOLDFILEUID:NONE\r\nNEWFILEUID:NONE\r\n\r\n<OFX>';

describe('a file is taken for OFX', () => {
  it.each([
    ['OFX 1', header('USASCII', '1252')],
    ['OFX 1 after blank lines', `\r\n\r\n${header('USASCII', '1252')}`],
    ['OFX 1 with its header on one line', 'OFXHEADER:100DATA:OFXSGMLVERSION:102<OFX>'],
    ['OFX 1 after other headers', `Content-Type: application/x-ofx\r\n\r\n${header('USASCII', '1252')}`],
    ['OFX 2', '<?xml version="1.0"?>\n<?OFX OFXHEADER="200" VERSION="220"?>\n<OFX>'],
    ['OFX 2 without its own declaration', '<?xml version="1.0"?><OFX>'],
    ['OFX 2 with a comment first', '<?xml version="1.0"?><!-- made by hand --><OFX xmlns="x">'],
    ['OFX 2 with a namespace prefix', '<ofx:OFX xmlns:ofx="http://ofx.net/types/2003/04">'],
    ['neither header nor declaration', '\n\n<OFX>\n<SIGNONMSGSRSV1>'],
    ['a byte order mark', '\uFEFF<OFX>'],
  ])('%s', (_, start) => {
    expect(looksLikeOfx(start)).toBe(true);
  });
});

describe('a file is not taken for OFX', () => {
  it.each([
    ['nothing', ''],
    ['CAMT', '<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02">'],
    ['a page that names it', '<html><body>OFXHEADER:100</body></html>'],
    ['a CSV that names it', 'Date;Amount\n2026-03-01;<OFX>'],
    ['MT940', ':20:START\r\n:25:123\r\n'],
    ['JSON', '{"transactions":[]}'],
    ['another element', '<OFXX>'],
  ])('%s', (_, start) => {
    expect(looksLikeOfx(start)).toBe(false);
  });
});

it.each<[string, string, string | null]>([
  ['USASCII', '1252', 'windows-1252'],
  ['USASCII', '1254', 'windows-1254'],
  ['USASCII', 'ISO-8859-1', 'iso-8859-1'],
  ['USASCII', '8859-9', 'iso-8859-9'],
  ['USASCII', 'ISO-8859-77', null],
  ['USASCII', 'NONE', null],
  ['UTF-8', 'NONE', 'utf-8'],
  ['UTF-8', '1252', 'utf-8'],
  ['USASCII', 'UTF-8', 'utf-8'],
  ['UNICODE', 'NONE', null],
])('an OFX reader reads the encoding of the header: %s %s', (encoding, charset, label) => {
  expect(encodingOf(header(encoding, charset))).toBe(label);
  expect(encodingOf(header(encoding, charset).replaceAll('\r\n', ''))).toBe(label);
});

it('an OFX reader leaves the encoding of OFX 2 to its XML declaration', () => {
  expect(encodingOf('<?xml version="1.0" encoding="ISO-8859-9"?><?OFX OFXHEADER="200"?><OFX>')).toBeNull();
});
