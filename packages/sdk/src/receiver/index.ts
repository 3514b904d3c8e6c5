/** Receives the webhooks of Ledgerbell: verifies, reads and deduplicates notifications. */

export type { HandlerResult } from './batch.ts';
export { toFetchHandler } from './fetch-handler.ts';
export { type HashedFields, movementHash } from './hash.ts';
export { toNodeHandler } from './node-handler.ts';
export type * from './notification.ts';
export {
  type Answer,
  type BatchEvent,
  createReceiver,
  type LogEntry,
  type Receiver,
  type ReceiverOptions,
} from './receiver.ts';
export { type ReceivedRequest, type RequestHeaders, UnreadableRequestError } from './request.ts';
export { memoryStore } from './stores/memory-store.ts';
export { type RedisClient, type RedisStoreOptions, redisStore } from './stores/redis-store.ts';
export { type SqlStoreOptions, sqlStore, sqlStoreTable } from './stores/sql-store.ts';
export type { Claim, DeduplicationStore } from './stores/store.ts';
export { type RefusalReason, VerificationError } from './verification-error.ts';
export { createVerifier, type InstallationSecrets, type VerifierOptions } from './verifier.ts';
