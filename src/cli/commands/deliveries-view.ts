import * as v from 'valibot';
import { DeliveryView } from '../../deliveries/view.ts';
import type { ZoneOffset } from '../../zone-offset.ts';
import { type Column, formatTime } from '../table-output.ts';

/** A delivery as the API shows it. */
export const Delivery = v.looseObject(DeliveryView.entries);
export type Delivery = v.InferOutput<typeof Delivery>;

export const deliveryColumns = (zone: ZoneOffset): readonly Column<Delivery>[] => [
  ['id', ({ id }) => id],
  ['status', ({ status }) => status],
  ['attempts', ({ attempts }) => attempts, 'right'],
  ['due', ({ due_at }) => formatTime(due_at, zone)],
  ['finished', ({ finished_at }) => formatTime(finished_at, zone)],
  ['last error', ({ last_error }) => last_error],
];
