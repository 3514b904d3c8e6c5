export { ApiError } from './api-error.ts';
export type { FeedEvent, FeedOptions, FeedPage } from './feed.ts';
export type * from './generated/types.gen.ts';
export {
  type CsvQuery,
  Ledgerbell,
  type LedgerbellOptions,
  type MovementsQuery,
  type PollOptions,
  type Position,
  type UploadOptions,
} from './ledgerbell.ts';
export { type RefusalReason, VerificationError } from './receiver/verification-error.ts';
export { RedirectError } from './redirect-error.ts';
export { UnexpectedAnswerError } from './unexpected-answer-error.ts';
