import type { Entry } from '../statement.ts';
import type { Fields } from './element-paths.ts';

/** Whose statement it is, as far as the file says. */
export interface Holder {
  iban: string | null;
  number: string | null;
  name: string | null;
}

type Counterparty = Pick<Entry, 'name' | 'opponentId' | 'opponentIban'>;

type Party = Counterparty & { account: string | null };

/**
 * Finds the counterparty among debtor and creditor. A party whose account is the statement's account is the account holder, and the
 * other one is the counterparty. Otherwise the debtor is the counterparty of a credit, and the creditor that of a debit.
 *
 * In a reversal or return, many banks name the parties of the original payment, whose money moved the other way round. There, what
 * the file says of the parties counts first: who is named at all, who has the holder's name, and who has an account.
 */
export function findCounterparty(
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

/** The fields of a side. Their names are put together once, not for each entry. */
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
