import { describe, expect, it } from 'vitest';
import { looksLikeCamt } from '../../../src/statements/camt/parse.ts';
import { readFiles } from './events.ts';

const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08';

describe('the first characters of a file', () => {
  it.each([
    ['a namespace', `<?xml version="1.0"?>\n<Document xmlns="${NAMESPACE}"><BkToCstmrStmt>`],
    ['a prefix', `<n0:Document xmlns:n0="${NAMESPACE}">`],
    ['no namespace', '<Document><BkToCstmrAcctRpt><GrpHdr>'],
    ['no namespace, and a prefix', '<d:Document><d:BkToCstmrDbtCdtNtfctn>'],
    ['a byte order mark and blank lines', `\uFEFF\r\n\r\n<Document xmlns="${NAMESPACE}">`],
    ['an envelope', '<Envelope><AppHdr><MsgDefIdr>camt.054.001.08</MsgDefIdr></AppHdr>'],
    ['version 01', '<Document><BkToCstmrAcctRptV01>'],
    ['a document type declaration, which the parser refuses', `<!DOCTYPE x><Document xmlns="${NAMESPACE}">`],
  ])('with %s are those of a CAMT message', (_, start) => {
    expect(looksLikeCamt(start)).toBe(true);
  });

  it.each([
    ['an empty file', ''],
    [
      'another message',
      '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CstmrCdtTrfInitn>',
    ],
    [
      'another camt message',
      '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.060.001.05"><AcctRptgReq>',
    ],
    ['OFX 2', '<?xml version="1.0"?><?OFX OFXHEADER="200" VERSION="211"?><OFX>'],
    ['a table that speaks of camt.053.001.08', 'Date;Text\n2026-01-01;camt.053.001.08 <BkToCstmrStmt>'],
    ['MT940', '{1:F01BANKDEFFXXXX}{4:\n:20:camt.053.001.02\n'],
    ['JSON', '{"message":"<BkToCstmrStmt>"}'],
  ])('of %s are not', (_, start) => {
    expect(looksLikeCamt(start)).toBe(false);
  });

  it('are known in every own sample', () => {
    const files = readFiles(new URL('../../samples/camt/', import.meta.url));
    expect(files.size).toBeGreaterThan(0);
    for (const [name, text] of files)
      expect([name, looksLikeCamt(text.slice(0, 4_096))]).toEqual([name, true]);
  });
});
