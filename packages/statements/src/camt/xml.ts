import { createXmlParser, localName } from '../shared/xml-parser.ts';

/** The elements of a message that are read, by the paths of their local names. The same paths are used for all versions. */

type Side = 'debtor' | 'creditor';

export type Field =
  | `${Side}${'Name' | 'Id' | 'Iban' | 'Account' | 'UltimateName' | 'UltimateId'}`
  | 'accountIban'
  | 'accountNumber'
  | 'accountCurrency'
  | 'owner'
  | 'statementId'
  | 'statementNumber'
  | 'legalNumber'
  | 'statementPage'
  | 'fromDate'
  | 'toDate'
  | 'bic'
  | 'bankCode'
  | 'bankName'
  | 'balanceType'
  | 'creditLine'
  | 'amount'
  | 'currency'
  | 'transactionAmount'
  | 'transactionCurrency'
  | 'dc'
  | 'status'
  | 'date'
  | 'valueDate'
  | 'reversal'
  | 'endToEndId'
  | 'mandate'
  | 'originalAmount'
  | 'originalCurrency'
  | 'rate'
  | 'transactionRate'
  | 'returned'
  | 'document'
  | 'acceptor'
  | 'cheque'
  | 'tradingParty'
  | 'partyType'
  | 'charge'
  | 'chargeDc'
  | 'reference'
  | 'batch'
  | 'domain'
  | 'family'
  | 'subFamily'
  | 'proprietary'
  | 'remittance'
  | 'remittanceReference'
  | 'note';

/** The content of an element. A field that occurs several times has all its texts, separated by spaces. */
export type Fields = Partial<Record<Field, string>>;

/** The paths of the fields. `@Ccy` is the attribute. */
type Paths = Readonly<Record<string, Field>>;

/** Fields of which only the first text is read. A party may have several identifications. */
export const FIRST_ONLY: ReadonlySet<Field> = new Set<Field>([
  'debtorId',
  'creditorId',
  'debtorUltimateId',
  'creditorUltimateId',
]);

export const ACCOUNT: Paths = {
  Id: 'statementId',
  ElctrncSeqNb: 'statementNumber',
  LglSeqNb: 'legalNumber',
  'StmtPgntn/PgNb': 'statementPage',
  'FrToDt/FrDtTm': 'fromDate',
  'FrToDt/FrDt': 'fromDate',
  'FrToDt/ToDtTm': 'toDate',
  'FrToDt/ToDt': 'toDate',
  'Acct/Id/IBAN': 'accountIban',
  'Acct/Id/Othr/Id': 'accountNumber',
  'Acct/Id/PrtryAcct/Id': 'accountNumber',
  'Acct/Id/BBAN': 'accountNumber',
  'Acct/Ccy': 'accountCurrency',
  'Acct/Ownr/Nm': 'owner',
  'Acct/Svcr/FinInstnId/BIC': 'bic',
  'Acct/Svcr/FinInstnId/BICFI': 'bic',
  'Acct/Svcr/FinInstnId/ClrSysMmbId/MmbId': 'bankCode',
  'Acct/Svcr/FinInstnId/Nm': 'bankName',
  'Acct/Svcr/FinInstnId/NmAndAdr/Nm': 'bankName',
};

export const BALANCE: Paths = {
  'Tp/CdOrPrtry/Cd': 'balanceType',
  'Tp/Cd': 'balanceType',
  'CdtLine/Incl': 'creditLine',
  Amt: 'amount',
  'Amt@Ccy': 'currency',
  CdtDbtInd: 'dc',
  'Dt/Dt': 'date',
  'Dt/DtTm': 'date',
};

const CODE: Paths = {
  'BkTxCd/Domn/Cd': 'domain',
  'BkTxCd/Domn/Fmly/Cd': 'family',
  'BkTxCd/Domn/Fmly/SubFmlyCd': 'subFamily',
  'BkTxCd/Prtry/Cd': 'proprietary',
};

export const ENTRY: Paths = {
  ...CODE,
  Amt: 'amount',
  'Amt@Ccy': 'currency',
  CdtDbtInd: 'dc',
  RvslInd: 'reversal',
  'AmtDtls/InstdAmt/Amt': 'originalAmount',
  'AmtDtls/InstdAmt/Amt@Ccy': 'originalCurrency',
  'AmtDtls/TxAmt/Amt': 'transactionAmount',
  'AmtDtls/TxAmt/Amt@Ccy': 'transactionCurrency',
  'AmtDtls/InstdAmt/CcyXchg/XchgRate': 'rate',
  'AmtDtls/TxAmt/CcyXchg/XchgRate': 'transactionRate',
  // A code in the element itself up to version 07, and in Cd since version 08.
  Sts: 'status',
  'Sts/Cd': 'status',
  'Sts/Prtry': 'status',
  'BookgDt/Dt': 'date',
  'BookgDt/DtTm': 'date',
  'ValDt/Dt': 'valueDate',
  'ValDt/DtTm': 'valueDate',
  AcctSvcrRef: 'reference',
  'Btch/PmtInfId': 'batch',
  'NtryDtls/Btch/PmtInfId': 'batch',
  AddtlNtryInf: 'note',
};

export const DETAIL: Paths = {
  ...CODE,
  ...party('Dbtr', 'debtor'),
  ...party('Cdtr', 'creditor'),
  Amt: 'amount',
  'Amt@Ccy': 'currency',
  'AmtDtls/TxAmt/Amt': 'transactionAmount',
  'AmtDtls/TxAmt/Amt@Ccy': 'transactionCurrency',
  'AmtDtls/InstdAmt/Amt': 'originalAmount',
  'AmtDtls/InstdAmt/Amt@Ccy': 'originalCurrency',
  'AmtDtls/InstdAmt/CcyXchg/XchgRate': 'rate',
  'AmtDtls/TxAmt/CcyXchg/XchgRate': 'transactionRate',
  CdtDbtInd: 'dc',
  'Refs/AcctSvcrRef': 'reference',
  'Refs/EndToEndId': 'endToEndId',
  'Refs/MndtId': 'mandate',
  'RtrInf/Rsn/Cd': 'returned',
  'RtrInf/Rsn/Prtry': 'returned',
  'RtrInf/AddtlInf': 'returned',
  'RmtInf/Ustrd': 'remittance',
  'RmtInf/Strd/CdtrRefInf/Ref': 'remittanceReference',
  'RmtInf/Strd/AddtlRmtInf': 'remittance',
  'RmtInf/Strd/RfrdDocInf/Nb': 'document',
  'Refs/ChqNb': 'cheque',
  'CardTx/POI/Id/ShrtNm': 'acceptor',
  'CardTx/POI/SysNm': 'acceptor',
  'RltdPties/TradgPty/Nm': 'tradingParty',
  'RltdPties/TradgPty/Pty/Nm': 'tradingParty',
  'RltdPties/DbtrAcct/Tp/Prtry': 'partyType',
  'RltdPties/CdtrAcct/Tp/Prtry': 'partyType',
  'Chrgs/Amt': 'charge',
  'Chrgs/CdtDbtInd': 'chargeDc',
  'Chrgs/Rcrd/Amt': 'charge',
  'Chrgs/Rcrd/CdtDbtInd': 'chargeDc',
  AddtlTxInf: 'note',
};

function party(element: 'Dbtr' | 'Cdtr', side: Side): Paths {
  const at = `RltdPties/${element}`;
  return {
    ...person(at, `${side}Name`, `${side}Id`),
    ...person(`RltdPties/Ultmt${element}`, `${side}UltimateName`, `${side}UltimateId`),
    [`${at}Acct/Id/IBAN`]: `${side}Iban`,
    [`${at}Acct/Id/Othr/Id`]: `${side}Account`,
    [`${at}Acct/Id/PrtryAcct/Id`]: `${side}Account`,
    [`${at}Acct/Id/BBAN`]: `${side}Account`,
  };
}

/** Since version 08, a person or organisation is nested in Pty, and a bank in Agt. */
function person(at: string, name: Field, id: Field): Paths {
  return {
    [`${at}/Agt/FinInstnId/Nm`]: name,
    ...Object.fromEntries(
      [at, `${at}/Pty`].flatMap((element): [string, Field][] => [
        [`${element}/Nm`, name],
        [`${element}/Id/OrgId/Othr/Id`, id],
        [`${element}/Id/PrvtId/Othr/Id`, id],
      ]),
    ),
  };
}

/** The deepest nesting that is read. CAMT nests about 15 elements. */
const MAX_DEPTH = 64;
/**
 * Most characters between two tags. The longest text of a CAMT message has 500. saxes holds everything between two tags in memory.
 */
const MAX_BETWEEN_TAGS = 64 * 1024;

/** The parts of a document that are reported: its elements by their local names, without namespace prefixes. */
export interface ElementHandler {
  open(name: string, attributes: Readonly<Record<string, string>>, line: number): void;
  text(text: string): void;
  close(line: number): void;
}

/** Why, and from which line on, the rest of a document is not read. */
export interface Stop {
  line: number;
  reason: string;
}

interface XmlReader {
  write(text: string): void;
  /** No more text follows. */
  end(): void;
  /** If this is not null, nothing more is read. */
  readonly stop: Stop | null;
  /** The local name of the outermost element. */
  readonly root: string | null;
}

/** Ends the parsing of a document at its last tag. */
class DocumentEnd extends Error {}

/**
 * Reads XML in any split, and stops at the first thing that is not well-formed. It also stops at a document type declaration, at an
 * entity that is not known, below 64 nested elements, and where two tags lie more than 64 KiB apart, so that no file can
 * fill the memory. Several documents may follow each other: banks and programs append one file to another.
 */
export function createXmlReader(handler: ElementHandler): XmlReader {
  let stop: Stop | null = null;
  let linesBefore = 0;
  let written = 0;
  let depth = 0;
  let root: string | null = null;
  let tagLine = 1;
  let tagPosition = 0;

  const line = () => linesBefore + parser.line;
  const stopAt = (at: number, reason: string) => {
    stop ??= { line: at, reason };
  };
  const reachTag = () => {
    checkDistance(parser.position);
    tagLine = line();
    tagPosition = parser.position;
  };
  const checkDistance = (position: number) => {
    if (position - tagPosition > MAX_BETWEEN_TAGS)
      stopAt(tagLine, `the next tag is more than ${MAX_BETWEEN_TAGS / 1024} KiB away, which is the limit`);
  };

  const createParser = () =>
    createXmlParser({
      opentag({ name, attributes }) {
        if (stop !== null) return;
        reachTag();
        depth += 1;
        if (depth > MAX_DEPTH)
          stopAt(line(), `elements are nested more than ${MAX_DEPTH} deep, which is the limit`);
        root ??= localName(name);
        if (stop === null) handler.open(localName(name), attributes, line());
      },
      closetag() {
        if (stop !== null) return;
        reachTag();
        depth -= 1;
        if (stop === null) handler.close(line());
        if (depth === 0) throw new DocumentEnd();
      },
      text(text) {
        if (stop === null) handler.text(text);
      },
      doctype: () => stopAt(line(), 'a document type declaration (DTD) is not allowed'),
      error: ({ message }) => stopAt(line(), explain(message)),
    });
  let parser = createParser();

  /** @returns what follows the end of a document */
  const readOn = (text: string): string => {
    // Some banks send blank lines before the XML declaration.
    const content = written === 0 ? text.replace(/^[\s\uFEFF]+/, '') : text;
    linesBefore += text.slice(0, text.length - content.length).split('\n').length - 1;
    if (content === '') return '';
    written += content.length;
    try {
      parser.write(content);
    } catch (error) {
      if (!(error instanceof DocumentEnd)) throw error;
      const rest = content.slice(content.length - (written - parser.position));
      linesBefore += parser.line - 1;
      parser = createParser();
      written = 0;
      tagPosition = 0;
      return rest;
    }
    checkDistance(written);
    return '';
  };

  return {
    write(text) {
      for (let rest = text; rest !== '' && stop === null; ) rest = readOn(rest);
    },
    end() {
      if (stop === null && (written > 0 || root === null)) parser.close();
    },
    get stop() {
      return stop;
    },
    get root() {
      return root;
    },
  };
}

function explain(message: string): string {
  if (message === 'undefined entity.')
    return 'an entity is not allowed, except those of XML and HTML, such as &amp; and &nbsp;, and character references';
  return `it is not well-formed XML: ${message.replace(/\.$/, '')}`;
}
