import type { Context } from 'hono';
import { DELIVERY_ID_PATTERN, type DeliveryKey, parseDeliveryId } from '../delivery/delivery.ts';
import type { ApiEnv } from '../http/app.ts';
import { notFound } from '../platform/problem.ts';
import type { Parameter } from './openapi/openapi.ts';

/** The id of a delivery in a path, for /openapi.json. */
export const DELIVERY_ID: Parameter = {
  description: 'The id of the delivery: <webhook_id>-<transaction_id>.',
  example: '17-4711',
  schema: { type: 'string', pattern: DELIVERY_ID_PATTERN.source },
};

/** Reads the delivery's id in the path. @throws {Problem} 404 when it cannot be the id of a delivery. */
export function readDeliveryKey(c: Context<ApiEnv>): DeliveryKey {
  const key = parseDeliveryId(c.req.param('id') ?? '');
  if (key === null) throw notFound('delivery');
  return key;
}
