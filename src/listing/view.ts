import * as v from 'valibot';
import { BankView } from '../accounts/view.ts';
import { Amount, IdView } from '../http/schemas.ts';

/** A movement as the API shows it. Only `name` may be null: other fields that the bank did not send are "". */
export const TransactionView = v.object({
  id: IdView,
  account_id: IdView,
  name: v.nullable(v.string()),
  dc: v.picklist(['Debit', 'Credit']),
  code: v.string(),
  amount: Amount,
  balance: v.union([Amount, v.literal('')]),
  description: v.string(),
  date_issue: v.pipe(v.string(), v.isoDate()),
  date_readed: v.string(),
  opponent_id: v.string(),
  opponent_iban: v.string(),
  unique_id: v.string(),
  account: v.object({ id: IdView, title: v.string(), bank_id: IdView, bank: BankView }),
});
