import * as v from 'valibot';
import { readId } from '../http/input.ts';
import { idParameter } from '../http/openapi.ts';
import { notFound } from '../http/problem.ts';
import { createRoute } from '../http/route.ts';
import type { Runtime } from '../runtime.ts';
import { renderTransaction } from './body.ts';
import { findTransaction } from './transactions.ts';
import { TransactionView } from './view.ts';

/** GET /v1/transactions/:id */
export const getTransaction = ({ config, database }: Runtime) =>
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
