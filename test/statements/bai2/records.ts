import { parseBai2 } from '../../../packages/statements/src/bai2/parse.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { readEvents } from '../statement-events.ts';

export const FILE = '01,BANKEX,ACME,260302,0600,1,,,2/\n';
export const GROUP = '02,ACME,BANKEX,1,260301,,USD,2/\n';
export const ACCOUNT = '03,17,,,,,/\n';
/** The description of the account. */
export const STATEMENT = 'statement 17 USD';
/** Trailers without numbers compare nothing. */
export const END = '49,,/\n98,,,/\n99,,,/\n';

export const inAccount = (records: string): string => `${FILE}${GROUP}${ACCOUNT}${records}\n${END}`;

export const read = (text: string): Promise<StatementEvent[]> => readEvents(parseBai2, text);
