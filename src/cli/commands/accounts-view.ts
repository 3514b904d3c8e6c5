import * as v from 'valibot';
import { AccountView } from '../../accounts/view.ts';

/** An account as the API shows it. */
const Account = v.looseObject(AccountView.entries);

export const AccountAnswer = v.object({ account: Account });

/** `Account 7: Ana Hesap at Garanti BBVA, TRY` */
export const describeAccount = ({ id, title, bank, currency }: v.InferOutput<typeof Account>): string =>
  `Account ${id}: ${title} at ${bank.name}, ${currency}`;
