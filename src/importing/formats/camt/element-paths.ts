/** Which elements of a message are read, by the paths of their local names. All versions are read alike. */

type Side = 'debtor' | 'creditor';

export type Field =
  | `${Side}${'Name' | 'Id' | 'Iban' | 'Account' | 'UltimateName' | 'UltimateId'}`
  | 'accountIban'
  | 'accountNumber'
  | 'accountCurrency'
  | 'owner'
  | 'bic'
  | 'bankCode'
  | 'bankName'
  | 'balanceType'
  | 'amount'
  | 'currency'
  | 'transactionAmount'
  | 'transactionCurrency'
  | 'dc'
  | 'status'
  | 'date'
  | 'valueDate'
  | 'reversal'
  | 'returned'
  | 'reference'
  | 'batch'
  | 'domain'
  | 'family'
  | 'subFamily'
  | 'proprietary'
  | 'remittance'
  | 'remittanceReference'
  | 'note';

/** What an element says. A field that occurs several times has all its texts, separated by spaces. */
export type Fields = Partial<Record<Field, string>>;

/** The paths of the fields. `@Ccy` is the attribute. */
type Paths = Readonly<Record<string, Field>>;

/** A party may have several identifications; the first one is read. */
export const FIRST_ONLY: ReadonlySet<Field> = new Set<Field>([
  'debtorId',
  'creditorId',
  'debtorUltimateId',
  'creditorUltimateId',
]);

export const ACCOUNT: Paths = {
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
  CdtDbtInd: 'dc',
  'Refs/AcctSvcrRef': 'reference',
  'RtrInf/Rsn/Cd': 'returned',
  'RtrInf/Rsn/Prtry': 'returned',
  'RtrInf/AddtlInf': 'returned',
  'RmtInf/Ustrd': 'remittance',
  'RmtInf/Strd/CdtrRefInf/Ref': 'remittanceReference',
  'RmtInf/Strd/AddtlRmtInf': 'remittance',
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
