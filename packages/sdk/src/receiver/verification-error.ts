/**
 * Why a request is refused:
 * - `missing-header`: webhook-id, webhook-timestamp or webhook-signature is missing or empty.
 * - `malformed-header`: webhook-timestamp is not a whole number of seconds.
 * - `timestamp-too-old`, `timestamp-too-new`: webhook-timestamp is further from the clock than the tolerance.
 * - `wrong-signature`: no signature is that of the body, the id and the time with one of the secrets.
 * - `wrong-hash`: the field `hash` is not that of the six fields and the API secret.
 * - `malformed-body`: the body is not UTF-8, or not a notification.
 */
export type RefusalReason =
  | 'missing-header'
  | 'malformed-header'
  | 'timestamp-too-old'
  | 'timestamp-too-new'
  | 'wrong-signature'
  | 'wrong-hash'
  | 'malformed-body';

/** A request is not a genuine notification. The message is a sentence for a person, and contains no secret. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError';
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
