/** The ids of deliveries and of batches, as subscribers see them. */

/** A delivery is one movement for one webhook. Its id combines their ids and stays the same on every attempt. */
export interface DeliveryKey {
  webhookId: string;
  subjectId: string;
}

/** `17-4711`. The header `webhook-id` of its notification is `msg_17-4711`. */
export const formatDeliveryId = ({ webhookId, subjectId }: DeliveryKey): string =>
  `${webhookId}-${subjectId}`;

/**
 * The id of a batch: another one for each POST, because a delivery is in one POST at a time.
 * @param batch.first the first delivery. @param batch.startedAt milliseconds since 1970.
 */
export const formatBatchId = ({
  webhookId,
  first,
  startedAt,
}: {
  webhookId: string;
  first: number | string;
  startedAt: number;
}): string => `batch_${webhookId}-${first}-${startedAt.toString(36)}`;
