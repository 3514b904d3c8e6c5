import { readPaymentReference } from '../shared/payment-references.ts';
import { squeeze } from '../shared/text.ts';
import type { Entry } from '../statement.ts';
import { readIban } from '../values.ts';

/**
 * What a label says of the text after it, up to the next label. The specification has no labels: each bank has its own
 * (docs/formats/bai2.md#what-banks-write-into-the-text).
 *
 * - `originator` and `beneficiary`: name of the one who pays or is paid, which may begin with the account number
 * - `company`: the one who sent an ACH entry to this account, whichever way the money went
 * - `party id`: the id of the party whose label is right before
 */
const LABELS = {
  originator: 'ORIG, ORG, ORIGINATOR, B/O, B/O CUSTOMER, DBNM, BO1',
  'originator id': 'DACT, BO',
  beneficiary: 'BNF, BNF NAME, BENEFICIARY, CRNM',
  'beneficiary id': 'BNF ID, CACT',
  company: 'ORIG CO NAME',
  'company id': 'ORIG ID, CO ID',
  'company before': 'DES',
  'party id': 'ID, AC',
  'end-to-end id': 'EREF, RFB, YOUR REF',
  other:
    'ABA, ADDR, AMT/CUR, BBI, BI, B/O BANK, BNF ADDRESS, BNF BK, CABA, CBIC, CHG, CHKN, CO ENTRY DESCR, CREF, DABA, DATE, DBIC, DESC DATE, ' +
    'EED, ENDT, FED ID, FED REF, FR, FX, IDNM, IMAD, IND ID, IND ID NO, IND NAME, INDN, MRN SEQ, OB, OB3, OBI, OMAD, ORG ADDRESS, ' +
    'ORG BNK, ORIG BK, OTHER REFERENCE, PAID TO, PMT DET, PY, REC FI, REC FROM, REC GFP, REC ID, REF, RELATED REF, REMARK, REMI, ' +
    'SEC, SENDER BNK, SENDER ID, SEQ, SERVICE REF, SND BANK, SND BK, SNDBNK, SNDR REF, SRF, STTLMTDATE, TIME, TRACE, TRID, TRN, UETR, VIA, ' +
    'WIRE TYPE',
};
type Meaning = keyof typeof LABELS;

const MEANINGS = new Map(
  Object.entries(LABELS).flatMap(([meaning, labels]) =>
    labels.split(', ').map((label) => [label, meaning as Meaning] as const),
  ),
);

/** A label, with the sign after it: `ORG:`, `ORG=`, `ORG:=`, `RFB#`, `TRACE#:`, and before an account number `AC/` and `AC-`. */
const LABEL = new RegExp(
  `(?<![A-Z0-9])(?:(${[...MEANINGS.keys()].toSorted((one, other) => other.length - one.length).join('|')}) ?(?:#?:=?|#?=|#)|(AC)[/-](?=\\d)) ?`,
  'gi',
);

/** Longer values are no names and no ids. */
const MOST = 300;

/**
 * Type codes of payments that come back (BAI2 specification, appendix A: returns, rejects and reversals). Some banks keep the
 * originator and the beneficiary of the first payment, others exchange them, so neither is certain to be the counterparty.
 */
const RETURNS = new Set('168 252 255 257 258 261 266 268 468 552 555 557 558 561 566 568'.split(' '));

interface Labelled extends Pick<Entry, 'name' | 'opponentId' | 'opponentIban'> {
  endToEndId: string | undefined;
}

/** Reads what the labels of a transaction's text say: the counterparty, and the reference that stays the same from end to end. */
export function readLabels(text: string, typeCode: string, dc: Entry['dc']): Labelled {
  const values = findValues(squeeze(text));
  const side = dc === 'Credit' ? 'originator' : 'beneficiary';
  const hasCounterparty = !RETURNS.has(typeCode);
  const party = readParty(values.get(side) ?? '');
  const company = values.get('company id') === undefined ? undefined : values.get('company before');
  const name = values.get('company') ?? company ?? party.name;
  const id = firstWord(values.get('company id') ?? values.get(`${side} id`)) ?? party.account;
  const iban = readIban(id ?? '');
  return {
    name: (hasCounterparty && name) || null,
    opponentId: (hasCounterparty && iban === null && id) || null,
    opponentIban: hasCounterparty ? iban : null,
    endToEndId: readEndToEndId(values.get('end-to-end id') ?? ''),
  };
}

/**
 * At most 35 characters, as in ISO 20022. Zeros are no reference, and neither is `O/B` with a bank, which stands there if the sender
 * gave none.
 */
const readEndToEndId = (value: string): string | undefined =>
  value.length > 35 || /^(?:0*|O\/B .*)$/i.test(value) ? undefined : readPaymentReference(value);

/** @returns by meaning, the first text after such a label */
function findValues(text: string): Map<Meaning, string> {
  const values = new Map<Meaning, string>();
  // Most texts without these signs have no labels, and looking for all labels takes longer than reading the record.
  const labels = /[:=#]/.test(text) ? [...text.matchAll(LABEL)] : [];
  let before: Meaning = 'other';
  for (const [index, label] of labels.entries()) {
    const meaning = MEANINGS.get((label[1] ?? label[2] ?? '').toUpperCase()) ?? 'other';
    const own = meaning === 'party id' && isParty(before) ? (`${before} id` as const) : meaning;
    const value =
      own !== 'company before'
        ? text.slice(label.index + label[0].length, labels[index + 1]?.index)
        : index === 0
          ? text.slice(0, label.index)
          : '';
    const plain = value.slice(0, MOST).replace(/[ ,;/]{1,20}$/, '');
    if (plain !== '' && !values.has(own)) values.set(own, plain);
    before = meaning;
  }
  return values;
}

const isParty = (meaning: Meaning): meaning is 'originator' | 'beneficiary' =>
  meaning === 'originator' || meaning === 'beneficiary';

const firstWord = (value: string | undefined): string | undefined => value?.split(' ', 1)[0];

/**
 * Reads a party: its account number, if that is first, and its name. As in field 50F of SWIFT, lines can be numbered: `1/` is the name,
 * and an address follows.
 */
function readParty(value: string): { account: string | undefined; name: string } {
  const [first = '', ...rest] = value.split(' ');
  const isAccount =
    rest.length > 0 && (/^\/\S*\d{4}/.test(first) || /^\d{5,}$/.test(first) || readIban(first) !== null);
  const named = isAccount ? rest.join(' ') : value;
  return {
    account: isAccount ? first.replace(/^\//, '') : undefined,
    name: named.replace(/^(?:1?\/)/, '').replace(/ 2\/[\s\S]*$/, ''),
  };
}
