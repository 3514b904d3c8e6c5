import { zipSync } from 'fflate';
import { cfonbDay, codaDay, norma43 } from './fixed-width-files.ts';
import {
  type BenchDay,
  type BenchEntry,
  closingOf,
  type FileAccount,
  makeDays,
  short,
} from './statement-entries.ts';

/** Renders entries as files, as banks write them. */

/** The account of the benchmark's statements. */
export const STATEMENT_IBAN = 'TR320010009999901234567890';

/** CFONB 120 and Norma 43 name the account as banks of France and Spain do. */
const IBANS_OF_COUNTRIES: Partial<Record<FileFormat | 'ndjson', string>> = {
  cfonb120: 'FR7630006000011234567890189',
  norma43: 'ES9121000418450200051332',
};

/** The IBAN of the account that a file of the benchmark is of. */
export const ibanIn = (format: FileFormat | 'ndjson'): string => IBANS_OF_COUNTRIES[format] ?? STATEMENT_IBAN;

const accountIn = (format: FileFormat): FileAccount => ({ iban: ibanIn(format), currency: 'TRY' });

/** A statement of a day, or of a page of it. */
export interface FileDay extends BenchDay {
  number?: string;
  page?: number;
  isLastPage?: boolean;
}

/** The parts of a file. What `begin` and `end` write stands once; `day` is a statement of its own, or a part of the only one. */
interface Renderer {
  begin?: string;
  day(day: FileDay): string;
  end?(last: BenchDay): string;
}

export const TEXT_FORMATS = ['mt940', 'camt', 'ofx', 'csv', 'bai2', 'coda', 'cfonb120', 'norma43'] as const;
export type TextFormat = (typeof TEXT_FORMATS)[number];
/** Reports of a day so far. */
export const REPORT_FORMATS = ['mt942', 'camt.052'] as const;
export type FileFormat = TextFormat | (typeof REPORT_FORMATS)[number];

const compact = (date: string): string => date.replaceAll('-', '');
const comma = (amount: string): string => amount.replace('.', ',');
const wrap = (text: string, width: number, lineEnd: string): string =>
  text.match(new RegExp(`.{1,${width}}`, 'g'))?.join(lineEnd) ?? '';

const mt940Entry = ({ date, isCredit, amount, reference, text, name, iban }: BenchEntry): string => {
  const subFields = (text.match(/.{1,27}/g) ?? []).map((part, at) => `?2${at}${part}`).join('');
  const details = wrap(`020?00EFT${subFields}?31${iban}?32${name}`, 65, '\r\n');
  const day = short(date);
  return `:61:${day}${day.slice(2)}${isCredit ? 'C' : 'D'}${comma(amount)}NTRFNONREF${reference && `//${reference}`}\r\n:86:${details}\r\n`;
};

const camtEntry = (
  { date, isCredit, amount, reference, text, name, iban }: BenchEntry,
  currency: string,
): string => {
  const party = isCredit ? 'Dbtr' : 'Cdtr';
  return `      <Ntry>
        <Amt Ccy="${currency}">${amount}</Amt>
        <CdtDbtInd>${isCredit ? 'CRDT' : 'DBIT'}</CdtDbtInd>
        <Sts>BOOK</Sts>
        <BookgDt><Dt>${date}</Dt></BookgDt>
        <ValDt><Dt>${date}</Dt></ValDt>
${reference && `        <AcctSvcrRef>${reference}</AcctSvcrRef>\n`}        <BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn></BkTxCd>
        <NtryDtls>
          <TxDtls>
            <Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs>
            <RltdPties>
              <${party}><Nm>${name}</Nm></${party}>
              <${party}Acct><Id><IBAN>${iban}</IBAN></Id></${party}Acct>
            </RltdPties>
            <RmtInf><Ustrd>${text}</Ustrd></RmtInf>
          </TxDtls>
        </NtryDtls>
      </Ntry>
`;
};

const camtBalance = (type: string, amount: string, date: string, currency: string): string =>
  `      <Bal><Tp><CdOrPrtry><Cd>${type}</Cd></CdOrPrtry></Tp><Amt Ccy="${currency}">${amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>${date}</Dt></Dt></Bal>\n`;

const ofxEntry = ({ date, isCredit, amount, reference, text, name }: BenchEntry): string =>
  `<STMTTRN>
<TRNTYPE>${isCredit ? 'CREDIT' : 'DEBIT'}
<DTPOSTED>${compact(date)}120000.000[+3:TRT]
<TRNAMT>${isCredit ? '' : '-'}${amount}
<FITID>${reference}
<NAME>${name}
<MEMO>${text}
</STMTTRN>
`;

const CSV_HEADING = ['Tarih', 'Açıklama', 'Etiket', 'Tutar', 'Bakiye', 'Dekont No'];

/** As the profile garanti-bbva reads it. */
const csvCells = ({ date, isCredit, amount, balance, reference, text }: BenchEntry): string[] => {
  const [year, month, day] = date.split('-');
  const signed = `${isCredit ? '' : '-'}${amount}`;
  return [`${day}/${month}/${year}`, text, 'EFT', comma(signed), comma(balance), reference];
};

const bai2Entry = ({ isCredit, amount, reference, text }: BenchEntry): string =>
  `16,${isCredit ? 195 : 495},${amount.replace('.', '')},Z,${reference},,${text}/\n`;

/** MT940 with balances, or MT942 without. */
const swift = ({ iban, currency }: FileAccount, isReport: boolean): Renderer => ({
  day: (day) => {
    const { date, opening, number = '1', page = 1, isLastPage = true } = day;
    const balance = (tag: string, amount: string) => `:${tag}:C${short(date)}${currency}${comma(amount)}\r\n`;
    const header = `:20:STARTUMSE\r\n:25:${iban}\r\n:28C:${number}/${page}\r\n`;
    const entries = day.entries.map(mt940Entry).join('');
    return isReport
      ? `${header}:34F:${currency}0,\r\n:13D:${short(date)}1200+0300\r\n${entries}-\r\n`
      : `${header}${balance(page === 1 ? '60F' : '60M', opening)}${entries}${balance(isLastPage ? '62F' : '62M', closingOf(day))}-\r\n`;
  },
});

/** camt.053, or camt.052 with the balance so far. */
const camt = ({ iban, currency }: FileAccount, isReport: boolean): Renderer => {
  const [message, root, part] = isReport
    ? ['camt.052', 'BkToCstmrAcctRpt', 'Rpt']
    : ['camt.053', 'BkToCstmrStmt', 'Stmt'];
  return {
    begin: `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${message}.001.02">
  <${root}>
    <GrpHdr><MsgId>M</MsgId><CreDtTm>2026-01-15T12:00:00+03:00</CreDtTm></GrpHdr>
`,
    day: (day) => {
      const number = day.number === undefined ? '' : `<ElctrncSeqNb>${day.number}</ElctrncSeqNb>`;
      const opening = camtBalance('OPBD', day.opening, day.date, currency);
      const closing = camtBalance(isReport ? 'ITBD' : 'CLBD', closingOf(day), day.date, currency);
      return (
        `    <${part}>\n      <Id>S${day.date}</Id>${number}\n      <Acct><Id><IBAN>${iban}</IBAN></Id><Ccy>${currency}</Ccy></Acct>\n` +
        `${opening}${closing}${day.entries.map((entry) => camtEntry(entry, currency)).join('')}    </${part}>\n`
      );
    },
    end: () => `  </${root}>\n</Document>\n`,
  };
};

const RENDERERS: Record<FileFormat, (account: FileAccount) => Renderer> = {
  mt940: (account) => swift(account, false),
  mt942: (account) => swift(account, true),
  camt: (account) => camt(account, false),
  'camt.052': (account) => camt(account, true),
  ofx: ({ iban, currency }) => ({
    begin: `OFXHEADER:100
DATA:OFXSGML
VERSION:102
SECURITY:NONE
ENCODING:UTF-8
CHARSET:NONE
COMPRESSION:NONE
OLDFILEUID:NONE
NEWFILEUID:NONE

<OFX>
<SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO</STATUS><DTSERVER>20260115<LANGUAGE>TUR</SONRS></SIGNONMSGSRSV1>
<BANKMSGSRSV1><STMTTRNRS><TRNUID>1<STATUS><CODE>0<SEVERITY>INFO</STATUS><STMTRS><CURDEF>${currency}
<BANKACCTFROM><BANKID>00100<ACCTID>${iban}<ACCTTYPE>CHECKING</BANKACCTFROM>
<BANKTRANLIST>
`,
    day: ({ entries }) => entries.map(ofxEntry).join(''),
    end: (last) =>
      `</BANKTRANLIST><LEDGERBAL><BALAMT>${closingOf(last)}<DTASOF>${compact(last.date)}</LEDGERBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>\n`,
  }),
  csv: ({ iban }) => ({
    begin: `IBAN:;${iban}\r\n${CSV_HEADING.join(';')}\r\n`,
    day: ({ entries }) => entries.map((entry) => `${csvCells(entry).join(';')}\r\n`).join(''),
  }),
  bai2: ({ iban, currency }) => ({
    begin: '01,GARAN,ACME,260115,0600,1,,,2/\n',
    day: (day) => {
      const balances = `010,${day.opening.replace('.', '')},,,015,${closingOf(day).replace('.', '')},,/`;
      return (
        `02,ACME,00100,1,${short(day.date)},,${currency},2/\n03,${iban},${currency},${balances}\n` +
        `${day.entries.map(bai2Entry).join('')}49,,/\n98,,,/\n`
      );
    },
    end: () => '99,,,/\n',
  }),
  coda: (account) => ({ day: (day) => codaDay(day, account) }),
  cfonb120: (account) => ({ day: (day) => cfonbDay(day, account) }),
  norma43,
};

/** Renders days of an account as one file. */
export function renderDays(format: FileFormat, days: readonly FileDay[], account: FileAccount): string {
  const { begin = '', day, end } = RENDERERS[format](account);
  const last = days.at(-1);
  return begin + days.map(day).join('') + (last === undefined || end === undefined ? '' : end(last));
}

/**
 * Renders a file, block by block.
 * @param entries how many in all. @param perDay how many of each day.
 */
export function* renderFile(
  format: TextFormat | 'ndjson',
  { entries, perDay, accountId = '' }: { entries: number; perDay: number; accountId?: string },
): Generator<string> {
  if (format === 'ndjson') {
    for (const day of makeDays(entries, perDay)) yield renderNdjson(day.entries, accountId);
    return;
  }
  const { begin = '', day, end } = RENDERERS[format](accountIn(format));
  yield begin;
  let last: BenchDay | null = null;
  for (last of makeDays(entries, perDay)) yield day(last);
  if (last !== null && end !== undefined) yield end(last);
}

const renderNdjson = (entries: readonly BenchEntry[], accountId: string): string =>
  entries
    .map(({ date, isCredit, amount, balance, reference, text, name, iban }) =>
      JSON.stringify({
        account_id: accountId,
        dc: isCredit ? 'Credit' : 'Debit',
        code: 'EFT',
        amount,
        balance,
        description: text,
        date_issue: date,
        opponent_iban: iban,
        unique_id: reference,
        name,
      }),
    )
    .map((line) => `${line}\n`)
    .join('');

const encoder = new TextEncoder();

/** Renders a workbook with the columns of the CSV file. It is in memory as a whole. */
export const renderWorkbook = (entries: number, perDay: number): Uint8Array =>
  renderWorkbookOf([...makeDays(entries, perDay)], accountIn('csv'));

export function renderWorkbookOf(days: readonly BenchDay[], { iban }: FileAccount): Uint8Array {
  const cell = (text: string) => `<c t="inlineStr"><is><t>${text}</t></is></c>`;
  const row = (cells: readonly string[]) => `<row>${cells.map(cell).join('')}</row>`;
  const rows = [['IBAN:', iban], CSV_HEADING].map(row);
  for (const day of days) rows.push(...day.entries.map(csvCells).map(row));
  const sheet = `<worksheet><sheetData>${rows.join('')}</sheetData></worksheet>`;
  const parts = {
    '[Content_Types].xml': '<Types/>',
    'xl/workbook.xml':
      '<workbook xmlns:r="x"><sheets><sheet name="Hareketler" sheetId="1" r:id="rId1"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
    'xl/worksheets/sheet1.xml': sheet,
  };
  return zipSync(Object.fromEntries(Object.entries(parts).map(([name, xml]) => [name, encoder.encode(xml)])));
}
