/** Statements of one account, as a bank would write them. The product's parsers read them; none of its code makes them. */

/** An entry of a statement. */
export interface Entry {
  /** YYYY-MM-DD. */
  date: string;
  dc: 'Debit' | 'Credit';
  /** In hundredths. */
  amount: number;
  /** The bank's name for it; empty if it has none. */
  reference: string;
  description: string;
}

export interface Statement {
  number: string;
  iban: string;
  /** In hundredths. */
  opening: number;
  openedOn: string;
  /** At least one, in order of their dates. */
  entries: readonly Entry[];
}

/** The balance after these entries, in hundredths. */
export const balanceAfter = (opening: number, entries: readonly Entry[]): number =>
  entries.reduce((balance, { dc, amount }) => balance + (dc === 'Credit' ? amount : -amount), opening);

/** Renders a statement as MT940, as the SWIFT standard MT 940 describes it. */
export function renderMt940({ number, iban, opening, openedOn, entries }: Statement): string {
  const closing = balanceAfter(opening, entries);
  return [
    `:20:${number}`,
    `:25:${iban}`,
    ':28C:1/1',
    `:60F:${mt940Balance(opening, openedOn)}`,
    ...entries.flatMap(({ date, dc, amount, reference, description }) => [
      `:61:${shortDate(date)}${shortDate(date).slice(2)}${dc === 'Credit' ? 'C' : 'D'}${decimal(amount, ',')}NTRFNONREF${reference && `//${reference}`}`,
      `:86:${description}`,
    ]),
    `:62F:${mt940Balance(closing, entries.at(-1)?.date ?? openedOn)}`,
    '-',
    '',
  ].join('\r\n');
}

const shortDate = (date: string): string => date.slice(2).replaceAll('-', '');

const mt940Balance = (balance: number, date: string): string =>
  `${balance < 0 ? 'D' : 'C'}${shortDate(date)}TRY${decimal(Math.abs(balance), ',')}`;

/** Renders a statement as camt.053, or as the report of a day that is not over (camt.052), version 08. */
export function renderCamt(
  { number, iban, opening, openedOn, entries }: Statement,
  isFinal: boolean,
): string {
  const [message, part] = isFinal ? ['camt.053', 'Stmt'] : ['camt.052', 'Rpt'];
  const closing = balanceAfter(opening, entries);
  const closedOn = entries.at(-1)?.date ?? openedOn;
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${message}.001.08"><BkToCstmr${isFinal ? 'Stmt' : 'AcctRpt'}>
<GrpHdr><MsgId>${number}</MsgId><CreDtTm>${closedOn}T18:00:00+03:00</CreDtTm></GrpHdr>
<${part}><Id>${number}</Id><Acct><Id><IBAN>${iban}</IBAN></Id><Ccy>TRY</Ccy></Acct>
${camtBalance('OPBD', opening, openedOn)}
${camtBalance(isFinal ? 'CLBD' : 'ITBD', closing, closedOn)}
${entries.map(camtEntry).join('\n')}
</${part}></BkToCstmr${isFinal ? 'Stmt' : 'AcctRpt'}></Document>
`;
}

const camtBalance = (code: string, balance: number, date: string): string =>
  `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp>${camtAmount(Math.abs(balance), balance >= 0)}<Dt><Dt>${date}</Dt></Dt></Bal>`;

const camtAmount = (amount: number, isCredit: boolean): string =>
  `<Amt Ccy="TRY">${decimal(amount, '.')}</Amt><CdtDbtInd>${isCredit ? 'CRDT' : 'DBIT'}</CdtDbtInd>`;

const camtEntry = ({ date, dc, amount, reference, description }: Entry): string =>
  `<Ntry>${camtAmount(amount, dc === 'Credit')}<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>${date}</Dt></BookgDt>${
    reference && `<AcctSvcrRef>${reference}</AcctSvcrRef>`
  }<NtryDtls><TxDtls><RmtInf><Ustrd>${escapeXml(description)}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>`;

const escapeXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const decimal = (hundredths: number, point: string): string =>
  `${Math.floor(hundredths / 100)}${point}${String(hundredths % 100).padStart(2, '0')}`;
