import * as v from 'valibot';
import { renderTransaction, TransactionView } from '../../../movements/body.ts';
import { findTransaction } from '../../../movements/transactions.ts';
import { notFound } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { readId } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../../route.ts';

/** GET /v1/transactions/:id */
export const getTransactionRoute = ({ config, database }: Runtime) =>
  createRoute(
    {
      tag: 'Movements',
      scope: 'read',
      summary: 'Get a movement',
      path: { id: idParameter('movement') },
      answer: { schema: v.object({ transaction: TransactionView }), description: 'The movement.' },
    },
    async (c) => {
      const transaction = await findTransaction(
        database,
        c.get('caller'),
        readId(c, 'movement'),
        config.zone,
      );
      if (transaction === null) throw notFound('movement');
      return c.body(`{"transaction":${renderTransaction(transaction)}}`, 200, {
        'Content-Type': 'application/json',
      });
    },
  );
