/** A delivery is one movement for one webhook. Its id combines their ids and stays the same on every attempt. */
export interface DeliveryKey {
  webhookId: string;
  transactionId: string;
}

/** `17-4711`. The header `webhook-id` of its notification is `msg_17-4711`. */
export const formatDeliveryId = ({ webhookId, transactionId }: DeliveryKey): string =>
  `${webhookId}-${transactionId}`;

/** @returns null when the text is not a delivery's id. */
export function parseDeliveryId(text: string): DeliveryKey | null {
  const [, webhookId, transactionId] = /^([1-9]\d{0,15})-([1-9]\d{0,15})$/.exec(text) ?? [];
  return webhookId === undefined || transactionId === undefined ? null : { webhookId, transactionId };
}
