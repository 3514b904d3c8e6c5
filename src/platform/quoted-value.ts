/** MySQL and MariaDB write: Duplicate entry '…' for key, Incorrect integer value: '…' for column, near '…' at line 1. */
const QUOTED_VALUE =
  /(entry|value:|near) '(?:[\s\S]*'(?= for (?:key|column) )|[\s\S]*'(?= at (?:line|row) \d)|[\s\S]*')/;

/** Removes the value that MySQL quotes in the message or stack of an error, because it may be account data. */
export const withoutValues = (text: string): string => text.replace(QUOTED_VALUE, "$1 '…'");
