export type { SendingOptions } from './api-client.ts';
export { ApiError } from './api-error.ts';
export type { FeedEvent, FeedOptions, FeedPage } from './feed.ts';
export type {
  BooksReport,
  Customer,
  OperatorToken,
  Status,
  Trouble,
} from './generated/operators/types.gen.ts';
export type * from './generated/types.gen.ts';
export {
  type CsvQuery,
  Ledgerbell,
  type LedgerbellOptions,
  type MovementsQuery,
  type OperatedCustomerOptions,
  type PollOptions,
  type Position,
  type UploadOptions,
} from './ledgerbell.ts';
export {
  type AuditChange,
  type AuditQuery,
  type CreatedCustomer,
  type CustomerDetails,
  type CustomersQuery,
  type CustomerToCreate,
  type CustomerUpdate,
  LedgerbellOperator,
  type LedgerbellOperatorOptions,
  type OperatorTokenToCreate,
  type VerifyQuery,
} from './operator.ts';
export type { CustomerName, OperatorAccess } from './operator-access.ts';
export { type RefusalReason, VerificationError } from './receiver/verification-error.ts';
export { RedirectError } from './redirect-error.ts';
export { UnexpectedAnswerError } from './unexpected-answer-error.ts';
