import * as v from 'valibot';
import { Bank } from '../../database/entities/bank.ts';
import { createHandlers } from '../../http/environment.ts';
import type { Runtime } from '../../runtime.ts';
import { BankView } from '../accounts/view.ts';
import { describe } from '../openapi.ts';

/** GET /v1/banks */
export const listBanks = ({ database }: Runtime) =>
  createHandlers(
    describe({
      tag: 'Accounts',
      summary: 'List the banks',
      answer: { schema: v.object({ banks: v.array(BankView) }), description: 'All banks, by id.' },
    }),
    async (c) => c.json({ banks: await database.getRepository(Bank).find({ order: { id: 'ASC' } }) }),
  );
