import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId, readQuery } from '../../../http/input.ts';
import { renderTransaction, TransactionView } from '../../../movements/body.ts';
import { addExtended, findTransaction } from '../../../movements/transactions.ts';
import { notFound } from '../../../platform/problem.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';
import { FIELDS_PARAMETER, FieldsQuery } from './fields.ts';

/** GET /v1/transactions/:id */
export const getTransactionRoute = ({ config, database }: Runtime) =>
  createRoute(
    {
      tag: 'Movements',
      scope: 'read',
      operationId: 'getTransaction',
      summary: 'Get a movement',
      path: { id: idParameter('movement') },
      query: { fields: FIELDS_PARAMETER },
      answer: { schema: v.object({ transaction: TransactionView }), description: 'The movement.' },
    },
    async (c) => {
      const { fields } = readQuery(c, v.strictObject({ fields: FieldsQuery }));
      const transaction = await findTransaction(
        database,
        c.get('caller'),
        readId(c, 'movement'),
        config.zone,
      );
      if (transaction === null) throw notFound('movement');
      if (fields === 'extended') await addExtended(database, [transaction]);
      return c.body(`{"transaction":${renderTransaction(transaction)}}`, 200, {
        'Content-Type': 'application/json',
      });
    },
  );
