import { parseThousandths } from '../../packages/statements/src/amounts.ts';
import type { MinorUnits } from '../../packages/statements/src/statement.ts';

/** Decides by its amount and its texts whether a movement is one of those that are looked for. */

/** Conditions on a movement. All that are given must hold. */
export interface MovementFilter {
  /** Thousandths, inclusive. Compared with the amount as it is stored, without the direction. */
  least?: MinorUnits | undefined;
  most?: MinorUnits | undefined;
  /** As `wordsOf` returns them. Each must occur in one of the texts. */
  words?: readonly string[] | undefined;
  /** As `compactIban` returns it. */
  opponentIban?: string | undefined;
}

/** The columns of a movement that a filter may look at. */
export interface FilteredMovement {
  amount: string;
  description: string | null;
  name: string | null;
  opponent_id: string | null;
  opponent_iban: string | null;
  code: string | null;
}

const TEXTS = ['description', 'name', 'opponent_id', 'opponent_iban', 'code'] as const;

/** The columns that a filter looks at. */
export function columnsOf({ least, most, words, opponentIban }: MovementFilter): (keyof FilteredMovement)[] {
  const texts = words !== undefined ? TEXTS : opponentIban !== undefined ? (['opponent_iban'] as const) : [];
  return [...(least === undefined && most === undefined ? [] : (['amount'] as const)), ...texts];
}

/** Says whether a movement passes a filter. Needs only the columns that `columnsOf` names. */
export function matches(filter: MovementFilter, movement: FilteredMovement): boolean {
  const { least, most, words, opponentIban } = filter;
  if (least !== undefined || most !== undefined) {
    const amount = parseThousandths(movement.amount);
    if (least !== undefined && amount < least) return false;
    if (most !== undefined && amount > most) return false;
  }
  if (opponentIban !== undefined && compactIban(movement.opponent_iban ?? '') !== opponentIban) return false;
  if (words === undefined) return true;
  const text = fold(textsOf(movement));
  return words.every((word) => text.includes(word));
}

/** All texts of a movement. A line feed separates them, so that no word is found across two of them. */
const textsOf = ({ description, name, opponent_id, opponent_iban, code }: FilteredMovement): string =>
  `${description ?? ''}\n${name ?? ''}\n${opponent_id ?? ''}\n${compactIban(opponent_iban ?? '')}\n${code ?? ''}`;

/** Removes the blanks of an IBAN, and makes its letters capitals. */
export const compactIban = (iban: string): string => iban.replaceAll(/\s/g, '').toUpperCase();

/** Splits what a person looks for into words without case and accents. */
export const wordsOf = (text: string): string[] => [...new Set(fold(text).split(/\s+/).filter(Boolean))];

/** Characters that `toUpperCase` alone does not fold. */
const BEYOND_ASCII = /[^\n -~]+/g;

/** Folded texts of up to so many characters are kept, because a language has few of them, and folding one takes a microsecond. */
const KEPT_LENGTH = 4;
const MOST_KEPT = 10_000;
const kept = new Map<string, string>();

/**
 * Removes case and accents: compatibility decomposition (Unicode Standard Annex 15, NFKD) without marks, in capitals. Capitals make equal
 * what a language writes in several ways: the Turkish ı and İ are I, ß is SS, and both forms of a small sigma are Σ.
 */
export const fold = (text: string): string => text.replace(BEYOND_ASCII, foldBeyondAscii).toUpperCase();

function foldBeyondAscii(text: string): string {
  const known = kept.get(text);
  if (known !== undefined) return known;
  // A character is decomposed without regard to those beside it, and only the order of marks depends on them.
  const folded = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase().toUpperCase();
  if (text.length <= KEPT_LENGTH && kept.size < MOST_KEPT) kept.set(text, folded);
  return folded;
}
