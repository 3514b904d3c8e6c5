import { expect, it } from 'vitest';
import { withoutValues } from '../../src/platform/text.ts';

it.each([
  ["Duplicate entry '7-TR33' for key 'accounts.iban'", "Duplicate entry '…' for key 'accounts.iban'"],
  [
    "Incorrect integer value: 'EFT 'x' for column' for column `a`.`b`.`c` at row 1",
    "Incorrect integer value: '…' for column `a`.`b`.`c` at row 1",
  ],
  [
    "Incorrect integer value: 'EFT' for column 'code' at row 1",
    "Incorrect integer value: '…' for column 'code' at row 1",
  ],
  ["Truncated incorrect DOUBLE value: 'a\nb'", "Truncated incorrect DOUBLE value: '…'"],
  ["… right syntax to use near 'EFT', 'x')' at line 1", "… right syntax to use near '…' at line 1"],
  [
    "QueryFailedError: Truncated incorrect DOUBLE value: 'EFT'\n    at query (a.ts:1:2)",
    "QueryFailedError: Truncated incorrect DOUBLE value: '…'\n    at query (a.ts:1:2)",
  ],
  ["Table 'ledgerbell.webhooks' doesn't exist", "Table 'ledgerbell.webhooks' doesn't exist"],
  ['connect ECONNREFUSED 127.0.0.1:3306', 'connect ECONNREFUSED 127.0.0.1:3306'],
])('an error is logged without the value that MySQL quotes in it: %s', (message, expected) => {
  expect(withoutValues(message)).toBe(expected);
});
