import { parseOfx } from '../../../packages/statements/src/ofx/parse.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { readEvents } from '../statement-events.ts';

export const read = (text: string): Promise<StatementEvent[]> => readEvents(parseOfx, text);

/** A file with one statement. The transactions are on line 3. */
export const inStatement = (list: string, more = ''): string =>
  `OFXHEADER:100\n\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>TRY<BANKACCTFROM><BANKID>0062<ACCTID>17-4` +
  `<ACCTTYPE>CHECKING</BANKACCTFROM><BANKTRANLIST>${list}</BANKTRANLIST>${more}</STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>`;

/** A file with one transaction of these fields, and of those that every transaction has. */
export const withFields = (fields: string): string =>
  inStatement(`<STMTTRN><TRNTYPE>XFER<DTPOSTED>20260301<TRNAMT>-12.34<FITID>A1${fields}</STMTTRN>`);

/** The description of the statement. */
export const STATEMENT = 'statement 17-4 TRY';

/** The header of OFX 1. */
export const ofxHeader = (encoding: string, charset: string): string =>
  `OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\nSECURITY:NONE\r\nENCODING:${encoding}\r\nCHARSET:${charset}\r\n` +
  'COMPRESSION:NONE\r\nOLDFILEUID:NONE\r\nNEWFILEUID:NONE\r\n\r\n<OFX>';
