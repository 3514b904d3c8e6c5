import * as v from 'valibot';
import { createHandlers } from '../http/environment.ts';
import { describe } from '../http/openapi.ts';
import type { Runtime } from '../runtime.ts';
import { BankView } from './view.ts';

/** Index: banks_name. */
const BANKS = 'SELECT id, name FROM banks WHERE customer_id = ? ORDER BY id';

type Bank = v.InferOutput<typeof BankView>;

/** GET /v1/banks */
export const listBanks = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Accounts',
      summary: 'List your banks',
      answer: {
        schema: v.object({ banks: v.array(BankView) }),
        description: 'The banks of your accounts, by id.',
      },
    }),
    async (c) => c.json({ banks: await database.query<Bank[]>(BANKS, [c.get('caller').customerId]) }),
  );
