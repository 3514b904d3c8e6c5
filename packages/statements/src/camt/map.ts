import {
  keepKnown,
  readCreditorReference,
  readPaymentReference,
  readRate,
} from '../shared/payment-references.ts';
import { joinTexts, squeeze } from '../shared/text.ts';
import type { Entry, EntryDetails, StatementEvent } from '../statement.ts';
import {
  type Detail,
  divide,
  findCommonFields,
  isCurrency,
  readAmount,
  readBookingDate,
  readCurrency,
  readDate,
  readEntryAmount,
  readEntryDirection,
  readReference,
  readStatus,
  type Share,
  signed,
  Unreadable,
} from './entry.ts';
import type { Fields } from './xml.ts';

/** An Ntry element as it stands in the file. */
export interface RawEntry {
  line: number;
  fields: Fields;
  details: Detail[];
}

/** The facts of its statement that an entry needs. */
interface StatementContext {
  kind: 'final' | 'interim';
  holder: Holder;
}

/**
 * Maps an Ntry element to one entry, or to one entry per TxDtls if their amounts add up to the amount of the Ntry. An entry that
 * cannot be read yields an issue.
 */
export function mapEntry(raw: RawEntry, statement: StatementContext): StatementEvent[] {
  const warnings: StatementEvent[] = [];
  const warn = (message: string) => warnings.push({ type: 'warning', line: raw.line, message });
  try {
    const { fields } = raw;
    const { amount, isNegative } = readEntryAmount(fields, warn);
    const total = { amount, dc: readEntryDirection(fields) };
    const currency = readCurrency(fields);
    const status = readStatus(fields, statement.kind, warn);
    const date = readBookingDate(fields, status, warn);
    if (date === null) return warnings;

    // A minus sign may mean the other direction. As for a reversal, the balances decide.
    const isTakingBack = isReversal(fields) || isNegative;
    const toEntry = (
      { amount, dc }: Share,
      detail: Fields,
      line: number,
      original: Original | undefined,
      batch?: EntryDetails['batch'],
    ): StatementEvent => {
      const { name, opponentId, opponentIban } = findCounterparty(detail, {
        dc,
        isReversal: isTakingBack || detail.returned !== undefined,
        holder: statement.holder,
      });
      const entry: Entry = {
        line,
        status,
        date,
        dc,
        amount,
        currency,
        balance: null,
        code: readCode(detail, fields),
        description: describe(detail, fields),
        name: name ?? detail.acceptor ?? null,
        opponentId,
        opponentIban,
        reference: readReference(detail) ?? readReference(fields),
      };
      const details = readEntryDetails(detail, fields, isTakingBack, original);
      if (details !== undefined || batch !== undefined)
        entry.details = { ...details, ...(batch && { batch }) };
      return { type: 'entry', entry };
    };
    const shares = divide(total, currency, raw.details);
    if (shares === null) {
      // An amount that several details have in common is not the amount of the whole entry.
      const [only, ...others] = raw.details.map((detail) => detail.fields);
      const ofDetail = only === undefined || others.length > 0 ? undefined : readOriginal(only, currency);
      const original = ofDetail ?? readOriginal(fields, currency);
      const joined = joinDetails(raw.details, {
        dc: total.dc,
        isReversal: isTakingBack,
        holder: statement.holder,
      });
      return [...warnings, toEntry(total, joined, raw.line, original)];
    }
    const batch = { reference: readReference(fields), amount: signed(total) };
    return [
      ...warnings,
      ...raw.details.map(({ fields: ofDetail, line }, at) =>
        toEntry(shares[at] ?? total, ofDetail, line, readOriginal(ofDetail, currency), batch),
      ),
    ];
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return [...warnings, { type: 'issue', line: raw.line, path: error.path, message: error.message }];
  }
}

/** Reads the fields that only an extended body has. The values of the detail come before those of its entry. */
function readEntryDetails(
  detail: Fields,
  entry: Fields,
  isTakingBack: boolean,
  original: Original | undefined,
): EntryDetails | undefined {
  return keepKnown<EntryDetails>({
    valueDate: (entry.valueDate === undefined ? null : readDate(entry.valueDate)) ?? undefined,
    endToEndId: readPaymentReference(detail.endToEndId),
    creditorReference: readCreditorReference(detail.remittanceReference),
    mandateReference: readPaymentReference(detail.mandate),
    isReversal: isTakingBack ? true : undefined,
    ...original,
  });
}

const isReversal = ({ reversal }: Fields): boolean => reversal === 'true' || reversal === '1';

type Original = Pick<EntryDetails, 'originalAmount' | 'originalCurrency' | 'exchangeRate'>;

/** The amount in another currency: as it was instructed, or else as it was cleared. */
function readOriginal(fields: Fields, currency: string | null): Original | undefined {
  const { originalAmount, originalCurrency, transactionAmount, transactionCurrency } = fields;
  if (originalCurrency === undefined && transactionCurrency === undefined) return undefined;
  const isOriginal = originalCurrency !== undefined && originalCurrency !== currency;
  const text = isOriginal ? originalAmount : transactionAmount;
  const originalIn = isOriginal ? originalCurrency : transactionCurrency;
  const amount = text === undefined ? null : (readAmount(text)?.amount ?? null);
  if (amount === null || originalIn === undefined || originalIn === currency || !isCurrency(originalIn))
    return undefined;
  const exchangeRate = readRate(fields.rate ?? fields.transactionRate);
  return {
    originalAmount: amount,
    originalCurrency: originalIn,
    ...(exchangeRate === undefined ? {} : { exchangeRate }),
  };
}

/** The account holder of a statement, as far as the file says. */
export interface Holder {
  iban: string | null;
  number: string | null;
  name: string | null;
}

type Counterparty = Pick<Entry, 'name' | 'opponentId' | 'opponentIban'>;

type Party = Counterparty & { account: string | null };

/**
 * Finds the counterparty among debtor and creditor. A party whose account is the statement's account is the account holder, and the
 * other one is the counterparty. Otherwise, the debtor is the counterparty of a credit, and the creditor is the counterparty of a
 * debit.
 *
 * In a reversal or return, many banks name the parties of the original payment, whose money moved the other way round. Therefore
 * these decide first: which party is named at all, which has the holder's name, and which has an account.
 */
function findCounterparty(
  detail: Fields,
  { dc, isReversal, holder }: { dc: 'Debit' | 'Credit'; isReversal: boolean; holder: Holder },
): Counterparty {
  const debtor = readParty(detail, DEBTOR);
  const creditor = readParty(detail, CREDITOR);
  const onlyOne = (is: (party: Party) => boolean): Party | null =>
    is(debtor) === is(creditor) ? null : is(debtor) ? debtor : creditor;
  const other = (party: Party | null): Party | null =>
    party === null ? null : party === debtor ? creditor : debtor;

  const own = onlyOne((party) => isHoldersAccount(party, holder));
  const reversed = isReversal
    ? (onlyOne(isNamed) ?? other(onlyOne((party) => hasHoldersName(party, holder))) ?? onlyOne(hasAccount))
    : null;
  const { name, opponentId, opponentIban } = other(own) ?? reversed ?? (dc === 'Credit' ? debtor : creditor);
  return { name, opponentId, opponentIban };
}

/** The fields of a side. Their names are built once, not for each entry. */
const fieldsOf = <Side extends 'debtor' | 'creditor'>(side: Side) =>
  ({
    name: `${side}Name`,
    ultimateName: `${side}UltimateName`,
    id: `${side}Id`,
    ultimateId: `${side}UltimateId`,
    account: `${side}Account`,
    iban: `${side}Iban`,
  }) as const;

const DEBTOR = fieldsOf('debtor');
const CREDITOR = fieldsOf('creditor');

function readParty(fields: Fields, of: typeof DEBTOR | typeof CREDITOR): Party {
  const account = fields[of.account] ?? null;
  return {
    account,
    name: fields[of.name] ?? fields[of.ultimateName] ?? null,
    opponentId: account ?? fields[of.id] ?? fields[of.ultimateId] ?? null,
    opponentIban: fields[of.iban]?.replace(/\s/g, '') ?? null,
  };
}

const isHoldersAccount = ({ opponentIban, account }: Party, { iban, number }: Holder): boolean =>
  isSame(opponentIban?.toUpperCase(), iban) ||
  isSame(opponentIban, number) ||
  isSame(account, number) ||
  isSame(account, iban);

const isSame = (one: string | null | undefined, other: string | null): boolean =>
  other !== null && one === other;

const isNamed = ({ name, opponentId, opponentIban }: Party): boolean =>
  (name ?? opponentId ?? opponentIban) !== null;

const hasAccount = ({ opponentIban, account }: Party): boolean => (opponentIban ?? account) !== null;

const hasHoldersName = (party: Party, holder: Holder): boolean =>
  party.name !== null && holder.name !== null && fold(party.name) === fold(holder.name);

const fold = (name: string): string => name.replace(/\s+/g, ' ').toUpperCase();

/** The length of a movement's description. */
const MAX_DESCRIPTION = 4_000;

/**
 * The texts of a detail, in the order of the description: the remittance information, the numbers of invoices and credit notes, why a
 * payment came back, where a card was used, and the bank's additional text.
 */
const TEXTS = [
  'remittance',
  'remittanceReference',
  'document',
  'returned',
  'acceptor',
  'tradingParty',
  'cheque',
  'partyType',
  'note',
] as const satisfies readonly (keyof Fields)[];

/**
 * Describes an entry by the texts of its detail and the bank's additional text for the entry. Leaves out a text that the earlier texts
 * contain. A batch without any of these is described by the ids of its payment instructions.
 */
export function describe(detail: Fields, entry: Fields): string | null {
  let description: string | null = null;
  const add = (text: string | undefined) => {
    if (text !== undefined) description = joinTexts(description, squeeze(text) || null);
  };
  for (const field of TEXTS) add(detail[field]);
  add(entry.note);
  const found: string | null = description ?? entry.batch ?? null;
  return found === null ? null : cut(found);
}

/**
 * Makes one detail of the details of an entry that is not divided: what all have in common, and the texts of each, with the
 * counterparty's name where the names differ.
 */
function joinDetails(details: readonly Detail[], parties: Parameters<typeof findCounterparty>[1]): Fields {
  const common = findCommonFields(details);
  if (details.length < 2) return common;
  const { name: commonName } = findCounterparty(common, parties);
  let text: string | null = null;
  for (const { fields } of details) {
    const name = commonName === null ? findCounterparty(fields, parties).name : null;
    text = joinTexts(text, joinTexts(name, describe(fields, {})));
    if (text !== null && text.length > MAX_DESCRIPTION) break;
  }
  const { remittanceReference } = common;
  const joined = { ...common, remittance: text ?? undefined, remittanceReference };
  for (const field of TEXTS)
    if (field !== 'remittance' && field !== 'remittanceReference') delete joined[field];
  return joined as Fields;
}

/** Cuts a text, but never between the two halves of a character. */
const cut = (text: string): string =>
  text.length <= MAX_DESCRIPTION ? text : text.slice(0, MAX_DESCRIPTION).replace(/[\uD800-\uDBFF]$/, '');

/**
 * Reads the bank's code for the kind of transaction: domain, family and sub-family, such as PMNT-RCDT-ESCT, or else the bank's own
 * code. Each value is taken from the detail, or else from the entry.
 */
function readCode(detail: Fields, entry: Fields): string | null {
  const { domain, family, subFamily } = detail.domain === undefined ? entry : detail;
  if (domain === undefined) return detail.proprietary ?? entry.proprietary ?? null;
  return [domain, family, subFamily].filter((part) => part !== undefined).join('-');
}
