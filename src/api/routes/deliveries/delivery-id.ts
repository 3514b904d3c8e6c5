import { DELIVERY_ID_PATTERN } from '../../../delivery/delivery.ts';
import type { Parameter } from '../../openapi/openapi.ts';

/** The id of a delivery in a path, for /openapi.json. */
export const DELIVERY_ID: Parameter = {
  description: 'The id of the delivery: <webhook_id>-<transaction_id>.',
  example: '17-4711',
  schema: { type: 'string', pattern: DELIVERY_ID_PATTERN.source },
};
