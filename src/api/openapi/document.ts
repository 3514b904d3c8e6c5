import type { Hono } from 'hono';
import { generateSpecs, resolver } from 'hono-openapi';
import type * as v from 'valibot';
import { BalanceView, BooksReportView, CompletenessView, StatementView } from '../../books/books-view.ts';
import { AccountChange, AccountView, BankView, NewAccount } from '../../customers/account-view.ts';
import { NewApiKey } from '../../customers/api-keys.ts';
import { CustomerChange, CustomerView } from '../../customers/customer-view.ts';
import { KeyView } from '../../customers/key-view.ts';
import { OperatorTokenView } from '../../customers/operator-token-view.ts';
import { NewOperatorToken } from '../../customers/operator-tokens.ts';
import { AttemptView } from '../../delivery/attempts.ts';
import { DeliveryView } from '../../delivery/delivery.ts';
import { RejectedBatchView } from '../../delivery/rejected-batches.ts';
import { ReplayProgressView, ReplayView } from '../../delivery/replay-view.ts';
import { TestView } from '../../delivery/requests.ts';
import type { ApiEnv } from '../../http/app.ts';
import { ConflictView } from '../../intake/conflict-view.ts';
import { DryRunView } from '../../intake/dry-run-view.ts';
import { ImportView, IssueView, WarningView } from '../../intake/import-view.ts';
import { WithdrawalPlanView } from '../../intake/withdrawal-plan-view.ts';
import { WithdrawalView } from '../../intake/withdrawal-view.ts';
import { Movement } from '../../ledger/movement.ts';
import { TransactionView } from '../../movements/body.ts';
import { VERSION } from '../../platform/config.ts';
import { NewSource, SCHEMAS_OF_KINDS, Schedule, SourceChange } from '../../sources/source-input.ts';
import { RunView, SourceView } from '../../sources/source-view.ts';
import { StandingWebhookView } from '../../verdict/standing-view.ts';
import { TemplateView } from '../../verdict/template-view.ts';
import { NewCustomer } from '../../webhooks/create-customer.ts';
import { NewTemplate, NewWebhook, TemplateChange, WebhookChange } from '../../webhooks/webhook-input.ts';
import { NewImport } from '../routes/imports/create.ts';
import { ReplayStatus } from '../routes/webhooks.ts';
import { StatusView, TroubleView } from '../status-document.ts';
import {
  EXAMPLES,
  ISSUE_SCHEMA,
  PROBLEM_SCHEMA,
  PROBLEM_SCHEMAS,
  PROBLEM_WITH_ERRORS_SCHEMA,
} from './errors.ts';
import { EVENT_NOTIFICATION } from './event-notification.ts';
import { addExamples } from './examples.ts';
import { type Audience, HEADERS } from './headers.ts';
import { NOTIFICATION } from './notification.ts';
import { mapValues, type Paths, share } from './shared.ts';

/** Builds /openapi.json from the descriptions of the routes. */

/** The groups of operations, in the order in which a program needs them first. */
const GROUPS: Record<string, string> = {
  Accounts: 'Bank accounts, their statements and balances, and whether a statement is missing.',
  Imports: 'Movements and statement files come in.',
  Movements: 'What is stored.',
  Webhooks: 'Who gets new movements, and how.',
  Notifications: 'What Ledgerbell sends to the endpoint of a webhook.',
  Deliveries: 'What was sent, and what is sent again.',
  Conflicts: 'Rows that differ from what is stored.',
  Withdrawals: 'Undo an import or a statement.',
  Sources: 'Places from which Ledgerbell collects files by itself.',
  'API keys': 'Who may call the API.',
  Settings: 'Of the caller.',
  Health: 'For load balancers and monitoring.',
};

/** Those of operators come first in their document, which sends no notifications. */
const { Notifications: _, ...OF_BOTH } = GROUPS;
const GROUPS_OF_OPERATORS: Record<string, string> = {
  Customers: 'Who owns accounts, keys and webhooks.',
  'Webhook templates': 'One endpoint for many customers.',
  Operators: 'What is wrong, who did what, and the tokens of operators.',
  ...OF_BOTH,
};

const tagsOf = (groups: Record<string, string>) =>
  Object.entries(groups).map(([name, description]) => ({ name, description }));

const DOCUMENTATION = {
  info: {
    title: 'Ledgerbell',
    version: VERSION,
    license: { name: 'MIT', identifier: 'MIT' },
    description:
      'Ledgerbell collects bank-account movements, stores them, lists them, and sends each new one as a signed POST to every matching webhook, with retries for about three days.',
  },
  components: {
    securitySchemes: {
      apiKey: { type: 'apiKey' as const, in: 'header' as const, name: 'Authentication' },
      bearer: { type: 'http' as const, scheme: 'bearer' },
    },
    headers: HEADERS,
    schemas: {
      ProblemIssue: ISSUE_SCHEMA,
      Problem: PROBLEM_SCHEMA,
      ProblemWithErrors: PROBLEM_WITH_ERRORS_SCHEMA,
      ...PROBLEM_SCHEMAS,
    },
  },
  security: [{ apiKey: [] }, { bearer: [] }],
  tags: tagsOf(GROUPS),
  servers: [{ url: '/' }],
  webhooks: { ...NOTIFICATION, ...EVENT_NOTIFICATION },
};

/** Schemas with a named type in generated clients, by the names of these types. A schema comes after the schemas that it contains. */
const NAMED: Record<string, v.GenericSchema> = {
  Bank: BankView,
  Account: AccountView,
  NewAccount,
  AccountChange,
  Extended: TransactionView.entries.extended,
  Transaction: TransactionView,
  NewTransaction: Movement,
  NewImport,
  Balance: BalanceView,
  Statement: StatementView,
  Completeness: CompletenessView,
  Conflict: ConflictView,
  ImportIssue: IssueView,
  ImportWarning: WarningView,
  Import: ImportView,
  DryRun: DryRunView,
  Withdrawal: WithdrawalView,
  WithdrawalPlan: WithdrawalPlanView,
  Webhook: StandingWebhookView,
  NewWebhook,
  WebhookChange,
  TestNotification: TestView,
  Attempt: AttemptView,
  RejectedBatch: RejectedBatchView,
  Delivery: DeliveryView,
  ReplayStatus,
  Replay: ReplayView,
  ReplayProgress: ReplayProgressView,
  Source: SourceView,
  ...SCHEMAS_OF_KINDS,
  Schedule,
  NewSource,
  SourceChange,
  SourceRun: RunView,
  ApiKey: KeyView,
  NewApiKey,
};

/** The same of the routes that only operators may call. */
const NAMED_OF_OPERATORS: Record<string, v.GenericSchema> = {
  ...NAMED,
  Customer: CustomerView,
  WebhookTemplate: TemplateView,
  NewWebhookTemplate: NewTemplate,
  WebhookTemplateChange: TemplateChange,
  NewCustomer,
  CustomerChange,
  Trouble: TroubleView,
  Status: StatusView,
  BooksReport: BooksReportView,
  OperatorToken: OperatorTokenView,
  NewOperatorToken,
};

/** What differs in the document of the operators' app. */
const OF_OPERATORS = {
  info: {
    ...DOCUMENTATION.info,
    title: 'Ledgerbell for operators',
    description:
      "The API of operators, on the operators' listener. It has the routes of customers, for the customer that the header Ledgerbell-Customer names, and the routes that only operators may call.",
  },
  components: {
    ...DOCUMENTATION.components,
    securitySchemes: { bearer: DOCUMENTATION.components.securitySchemes.bearer },
  },
  security: [{ bearer: [] }],
  tags: tagsOf(GROUPS_OF_OPERATORS),
  webhooks: {},
};

/** Makes the OpenAPI document of an app. The document has each schema of NAMED once. */
export async function createDocument(app: Hono<ApiEnv>, audience: Audience): Promise<object> {
  const documentation = audience === 'customers' ? DOCUMENTATION : { ...DOCUMENTATION, ...OF_OPERATORS };
  const document = await generateSpecs(app, { documentation });
  const names = new Map<string, string>();
  const schemas: Record<string, unknown> = { ...document.components?.schemas };
  for (const [name, view] of Object.entries(audience === 'customers' ? NAMED : NAMED_OF_OPERATORS)) {
    const { schema } = await resolver(view, { errorMode: 'ignore', typeMode: 'input' }).toOpenAPISchema();
    const named = refer(plain(schema), names);
    schemas[name] = named;
    names.set(JSON.stringify(named), name);
  }
  const shared = share(exampled(refer(plain(document.paths), names) as Paths), audience);
  const text = JSON.stringify(shared);
  const keepUsed = <T>(kind: string, values: Record<string, T>, isKept = (_name: string) => false) =>
    Object.fromEntries(
      Object.entries(values).filter(
        ([name]) => isKept(name) || text.includes(`"#/components/${kind}/${name}"`),
      ),
    );
  const isOfAll = (name: string) => !(name in PROBLEM_SCHEMAS);
  return {
    ...document,
    paths: shared.paths,
    components: {
      ...document.components,
      ...shared.components,
      examples: keepUsed('examples', EXAMPLES),
      schemas: keepUsed('schemas', schemas, isOfAll),
    },
  };
}

const exampled = (paths: Paths): Paths => mapValues(paths, (methods) => mapValues(methods, addExamples));

/** Replaces schemas that have a name with references. @param names by the schemas as JSON. */
function refer(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => refer(item, names));
  const referred = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, refer(item, names)]));
  const name = names.get(JSON.stringify(referred));
  return name === undefined ? referred : { $ref: `#/components/schemas/${name}` };
}

/** Writes a nullable value as `type: ["string", "null"]`, because generated clients take `anyOf` for two types. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  const { anyOf, ...rest } = Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, plain(item)]),
  );
  const [schema, nothing, ...others] = (anyOf ?? []) as { type?: unknown; enum?: unknown[] }[];
  if (others.length > 0 || nothing?.type !== 'null' || typeof schema?.type !== 'string')
    return anyOf === undefined ? withAnyMembers(rest) : { ...rest, anyOf };
  const values = schema.enum === undefined ? {} : { enum: [...schema.enum, null] };
  return { ...rest, ...schema, ...values, type: [schema.type, 'null'] };
}

/** Says of an object without known members that it may have any, because Redocly refuses an example with members otherwise. */
function withAnyMembers(schema: { type?: unknown; properties?: unknown }): object {
  const hasNone = schema.type === 'object' && JSON.stringify(schema.properties ?? {}) === '{}';
  return hasNone && !('additionalProperties' in schema) ? { ...schema, additionalProperties: true } : schema;
}
