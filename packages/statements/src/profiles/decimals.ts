import { type Cell, textOf } from './row.ts';
import { createThousandsTest } from './values.ts';

/** How many rows of a table are looked at. */
const MOST_ROWS = 1_000;

/** Decides once for a table whether three digits after the decimal sign are decimals. */
export interface Decimals {
  /** Looks at the amounts and the balance of a row. */
  note(cells: readonly (Cell | undefined)[]): void;
  /** Whether no later row changes anything. */
  areDecided(): boolean;
  /** Whether three digits may be thousands in a row so far, and a later row may show that they are decimals. */
  areOpen(): boolean;
  /** Whether an amount has shown that they are decimals. */
  areProven(): boolean;
}

/**
 * "1.234" may be thousands where a bank means the other sign. It has decimals if another amount of the table has four digits or no other than 0
 * before the sign ("2960.000", "0.500", ".500"), or thousands before it ("1,234.500").
 */
export function createDecimals(decimalSign: ',' | '.'): Decimals {
  const mayBeThousands = createThousandsTest({ decimalSign });
  const [sign, thousands] = decimalSign === '.' ? ['\\.', ",' \u2019"] : [',', ".' \u2019"];
  const whole = `0|\\d{4,18}|\\d{1,3}(?:[${thousands}]\\d{2,3}){1,6}`;
  // A sign right behind letters may be the point of an abbreviation: "Rs.500".
  const nothing = '(?:[^\\d.,]{0,20}[^\\p{L}\\d.,])?';
  const proof = new RegExp(`^(?:[^\\d.,]{0,20}(?:${whole})|${nothing})${sign}\\d{3}(?!\\d)`, 'u');
  let rows = 0;
  let isDoubtful = false;
  let isProven = false;
  const areDecided = () => isProven || rows === MOST_ROWS;
  return {
    areDecided,
    note(cells) {
      if (areDecided()) return;
      rows += 1;
      for (const cell of cells) {
        if (!mayBeThousands(cell)) continue;
        isDoubtful = true;
        isProven ||= proof.test(textOf(cell));
      }
    },
    areOpen: () => isDoubtful && !areDecided(),
    areProven: () => isProven,
  };
}
