import { readCreditorReference } from '../shared/payment-references.ts';
import { joinTexts, squeeze } from '../shared/text.ts';
import type { Entry, EntryDetails } from '../statement.ts';
import { isIban } from '../values.ts';
import { readAmount } from './records.ts';

/**
 * What the complements (05) of a movement say, by their qualifiers (CFONB, "Relevé de compte sur support informatique", annex of 2007 to 2017).
 * A text of a qualifier that is not known is a part of the description.
 */

export interface Complements {
  add(qualifier: string, value: string): void;
  /** The fields of the entry. The direction decides who the counterparty is. */
  toFields(dc: Entry['dc']): Pick<Entry, 'description' | 'name' | 'opponentId' | 'opponentIban'> & {
    details: EntryDetails;
  };
}

/** The most texts of a movement that are kept, and their characters in all. */
const MOST_TEXTS = 100;

interface Party {
  name: string | null;
  id: string | null;
}

const noParty = (): Party => ({ name: null, id: null });

/** Reads the original amount: currency, number of decimals, amount of 14 characters. */
function readOriginal(value: string): Pick<EntryDetails, 'originalAmount' | 'originalCurrency'> | null {
  const [, currency, decimals = '', digits = ''] = /^([A-Z]{3})(\d)(\d{14})/.exec(value) ?? [];
  if (currency === undefined) return null;
  // Here the amount has no sign: its last character is a digit.
  const amount = readAmount(`${digits.slice(0, -1)}${'{ABCDEFGHI'[Number(digits.slice(-1))]}`, decimals);
  return amount === null ? null : { originalAmount: amount, originalCurrency: currency };
}

export function createComplements(): Complements {
  const texts: string[] = [];
  /** The words of the payer, whose lines follow each other without a blank. */
  let remittance = '';
  const payer = noParty();
  const payee = noParty();
  const details: EntryDetails = {};
  const addText = (value: string) => {
    const words = squeeze(value);
    if (words !== '' && texts.length < MOST_TEXTS) texts.push(words);
  };
  const fill = (party: Party, key: keyof Party, value: string) => {
    const words = squeeze(value);
    if (words === '') return;
    if (party[key] === null) party[key] = words;
    else addText(words);
  };

  return {
    add(qualifier, value) {
      switch (qualifier) {
        case 'NPY':
          return fill(payer, 'name', value);
        case 'NBE':
          return fill(payee, 'name', value);
        case 'IPY':
          fill(payer, 'id', value.slice(0, 35));
          return addText(value.slice(35));
        case 'IBE':
          fill(payee, 'id', value.slice(0, 35));
          return addText(value.slice(35));
        case 'LCC':
        case 'LC2':
          if (remittance.length < 70 * MOST_TEXTS) remittance += value;
          return;
        case 'RCN': {
          const endToEndId = squeeze(value.slice(0, 35));
          if (details.endToEndId === undefined && endToEndId !== '' && !/^NOTPROVIDED$/i.test(endToEndId))
            details.endToEndId = endToEndId;
          return addText(value.slice(35));
        }
        case 'RUM': {
          const mandate = squeeze(value.slice(0, 35));
          if (details.mandateReference === undefined && mandate !== '') details.mandateReference = mandate;
          return addText(value.slice(35));
        }
        case 'MMO': {
          const original = readOriginal(value);
          if (original === null || details.originalAmount !== undefined) return addText(value);
          Object.assign(details, original);
          return;
        }
        default:
          return addText(value);
      }
    },
    toFields(dc) {
      const other = dc === 'Credit' ? payer : payee;
      const own = dc === 'Credit' ? payee : payer;
      const words = squeeze(remittance);
      const creditorReference = readCreditorReference(words);
      let description: string | null = null;
      // Some banks send the beginning of the payer's words as LIB too.
      const others = texts.filter((it) => !words.startsWith(it));
      for (const it of [...others, ...(words === '' ? [] : [words])])
        description = joinTexts(description, it);
      // The account's owner is said only if the bank has written it down.
      for (const it of [own.name, own.id]) if (it !== null) description = joinTexts(description, it);
      const account = (other.id ?? '').replaceAll(' ', '').toUpperCase();
      // A creditor identifier may look like an IBAN. Its check digits are others.
      const hasIban = isIban(account);
      return {
        description,
        name: other.name,
        opponentId: hasIban ? null : other.id,
        opponentIban: hasIban ? account : null,
        details: { ...details, ...(creditorReference === undefined ? {} : { creditorReference }) },
      };
    },
  };
}
