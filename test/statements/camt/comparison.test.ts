import { describe, expect, it } from 'vitest';
import { entries, parse, readFiles } from './events.ts';

const FOLDER = new URL('../../../../shared/samples/camt-genkgo/', import.meta.url);
const files = readFiles(FOLDER);
const comparisons = readFiles(FOLDER, '.json');

describe.skipIf(comparisons.size === 0)('a public CAMT file that another library has also read', () => {
  it.each([...comparisons.keys()])(
    'has the same dates, amounts, directions and counterparties in both: %s',
    async (name) => {
      const events = await parse(files.get(name.replace('.json', '.xml')) ?? '');
      // The other library lists only the entries of the last statement.
      const last = events.slice(events.findLastIndex(({ type }) => type === 'statement'));
      const read = entries(last).map(({ date, amount, currency, dc, name, opponentIban }) => {
        return { date, amount, currency, dc, name, opponentIban };
      });
      expect(read).toEqual(readComparison(comparisons.get(name) ?? ''));
    },
  );
});

/** The compared parts of the output of genkgo/camt. */

interface Party {
  getRelatedPartyType: { __CLASS__: string; getName: string | null };
  getAccount: { __CLASS__: string; getIdentification: string } | null;
}

interface Detail {
  getRelatedParties: Party[];
}

interface ComparedEntry {
  getRecord: { getAccount: { getIdentification: string } };
  getAmount: { getAmount: string; getCurrency: { getCode: string } };
  getBookingDate: { 0: string } | null;
  getValueDate: { 0: string } | null;
  getCreditDebitIndicator: 'CRDT' | 'DBIT';
  getTransactionDetail: Detail | null;
  /** The first one may be a mark that stands for `getTransactionDetail`. */
  getTransactionDetails: (Detail | string)[];
}

/** The fields of an entry that both libraries read. */
interface Compared {
  date: string;
  amount: bigint;
  currency: string | null;
  dc: 'Debit' | 'Credit';
  name: string | null;
  opponentIban: string | null;
}

/** The entries that have a date, in the order of the file. */
function readComparison(json: string): Compared[] {
  const { getEntries } = JSON.parse(json) as { getEntries: ComparedEntry[] };
  return getEntries.flatMap((entry) => {
    const date = (entry.getBookingDate ?? entry.getValueDate)?.[0].slice(0, 10);
    if (date === undefined) return [];
    const dc = entry.getCreditDebitIndicator === 'CRDT' ? 'Credit' : 'Debit';
    const { getAmount: amount, getCurrency: currency } = entry.getAmount;
    return [
      {
        date,
        amount: 10n * BigInt(amount.replace('-', '')),
        currency: currency.getCode,
        dc,
        ...counterparty(entry, dc),
      },
    ];
  });
}

/**
 * The party that all details name: the debtor of a credit, the creditor of a debit, or the opposite party if the usual party is the account holder.
 * Some of the files are examples of credits that were made debits and have kept their parties.
 */
function counterparty(entry: ComparedEntry, dc: 'Debit' | 'Credit') {
  const details = entry.getTransactionDetails.map((detail) =>
    typeof detail === 'string' ? entry.getTransactionDetail : detail,
  );
  const own = entry.getRecord.getAccount.getIdentification;
  const roles = dc === 'Credit' ? ['Debtor', 'Creditor'] : ['Creditor', 'Debtor'];
  const named = details.map((detail) => {
    const find = (end: string) =>
      detail?.getRelatedParties.find(({ getRelatedPartyType }) =>
        getRelatedPartyType.__CLASS__.endsWith(`\\${end}`),
      );
    const [usual, other] = roles.map((role) => find(role) ?? find(`Ultimate${role}`));
    const party = usual?.getAccount?.getIdentification === own ? other : usual;
    const account = party?.getAccount;
    return {
      name: party?.getRelatedPartyType.getName ?? null,
      opponentIban: account?.__CLASS__.endsWith('IbanAccount') ? account.getIdentification : null,
    };
  });
  const common = <K extends 'name' | 'opponentIban'>(key: K) =>
    new Set(named.map((party) => party[key])).size === 1 ? (named[0]?.[key] ?? null) : null;
  return { name: common('name'), opponentIban: common('opponentIban') };
}
