// @ts-nocheck
// Made by openapi-ts: npm run sdk

import { client } from './client.gen.ts';
import type { Client, ClientMeta, Options as Options2, RequestResult, TDataShape } from './client/index.ts';
import type { CancelReplayData, CancelReplayErrors, CancelReplayResponses, CollectSourceAgainData, CollectSourceAgainErrors, CollectSourceAgainResponses, CreateAccountData, CreateAccountErrors, CreateAccountResponses, CreateApiKeyData, CreateApiKeyErrors, CreateApiKeyResponses, CreateImportData, CreateImportErrors, CreateImportResponses, CreateSourceData, CreateSourceErrors, CreateSourceResponses, CreateWebhookData, CreateWebhookErrors, CreateWebhookResponses, DecideConflictData, DecideConflictErrors, DecideConflictResponses, DeleteAccountData, DeleteAccountErrors, DeleteAccountResponses, DeleteApiKeyData, DeleteApiKeyErrors, DeleteApiKeyResponses, DeleteSourceData, DeleteSourceErrors, DeleteSourceResponses, DeleteWebhookData, DeleteWebhookErrors, DeleteWebhookResponses, GetAccountData, GetAccountErrors, GetAccountResponses, GetApiSecretData, GetApiSecretErrors, GetApiSecretResponses, GetCompletenessData, GetCompletenessErrors, GetCompletenessResponses, GetConflictData, GetConflictErrors, GetConflictResponses, GetDeliveryData, GetDeliveryErrors, GetDeliveryResponses, GetHealthData, GetHealthErrors, GetHealthResponses, GetImportData, GetImportErrors, GetImportResponses, GetReadinessData, GetReadinessErrors, GetReadinessResponses, GetReplayData, GetReplayErrors, GetReplayResponses, GetSourceData, GetSourceErrors, GetSourceResponses, GetTransactionData, GetTransactionErrors, GetTransactionResponses, GetWebhookData, GetWebhookErrors, GetWebhookResponses, GetWithdrawalData, GetWithdrawalErrors, GetWithdrawalResponses, ListAccountsData, ListAccountsErrors, ListAccountsResponses, ListAccountTransactionsData, ListAccountTransactionsErrors, ListAccountTransactionsResponses, ListApiKeysData, ListApiKeysErrors, ListApiKeysResponses, ListBalancesData, ListBalancesErrors, ListBalancesResponses, ListBanksData, ListBanksErrors, ListBanksResponses, ListConflictsData, ListConflictsErrors, ListConflictsResponses, ListImportDuplicatesData, ListImportDuplicatesErrors, ListImportDuplicatesResponses, ListImportFilesData, ListImportFilesErrors, ListImportFilesResponses, ListImportRejectionsData, ListImportRejectionsErrors, ListImportRejectionsResponses, ListImportsData, ListImportsErrors, ListImportsResponses, ListReplaysData, ListReplaysErrors, ListReplaysResponses, ListSourceRunsData, ListSourceRunsErrors, ListSourceRunsResponses, ListSourcesData, ListSourcesErrors, ListSourcesResponses, ListStatementsData, ListStatementsErrors, ListStatementsResponses, ListTransactionDeliveriesData, ListTransactionDeliveriesErrors, ListTransactionDeliveriesResponses, ListTransactionsData, ListTransactionsErrors, ListTransactionsResponses, ListWebhookDeliveriesData, ListWebhookDeliveriesErrors, ListWebhookDeliveriesResponses, ListWebhooksData, ListWebhooksErrors, ListWebhooksResponses, ListWithdrawalsData, ListWithdrawalsErrors, ListWithdrawalsResponses, ReadFeedData, ReadFeedErrors, ReadFeedResponses, RedeliverData, RedeliverErrors, RedeliverResponses, ReplayWebhookData, ReplayWebhookErrors, ReplayWebhookResponses, RetryImportData, RetryImportErrors, RetryImportResponses, RotateApiSecretData, RotateApiSecretErrors, RotateApiSecretResponses, RotateWebhookSecretData, RotateWebhookSecretErrors, RotateWebhookSecretResponses, RunSourceData, RunSourceErrors, RunSourceResponses, TestWebhookData, TestWebhookErrors, TestWebhookResponses, UpdateAccountData, UpdateAccountErrors, UpdateAccountResponses, UpdateSourceData, UpdateSourceErrors, UpdateSourceResponses, UpdateWebhookData, UpdateWebhookErrors, UpdateWebhookResponses, WithdrawImportData, WithdrawImportErrors, WithdrawImportResponses, WithdrawStatementData, WithdrawStatementErrors, WithdrawStatementResponses } from './types.gen.ts';

export type Options<TData extends TDataShape = TDataShape, ThrowOnError extends boolean = boolean, TResponse = unknown> = Options2<TData, ThrowOnError, TResponse> & {
    /**
     * You can provide a client instance returned by `createClient()` instead of
     * individual options. This might be also useful if you want to implement a
     * custom client.
     */
    client?: Client;
    /**
     * You can pass arbitrary values through the `meta` object. This can be
     * used to access values that aren't defined as part of the SDK function.
     */
    meta?: keyof ClientMeta extends never ? Record<string, unknown> : ClientMeta;
};

class HeyApiClient {
    protected client: Client;
    
    constructor(args?: {
        client?: Client;
    }) {
        this.client = args?.client ?? client;
    }
}

class HeyApiRegistry<T> {
    private readonly defaultKey = 'default';
    
    private readonly instances: Map<string, T> = new Map();
    
    get(key?: string): T {
        const instance = this.instances.get(key ?? this.defaultKey);
        if (!instance) {
            throw new Error(`No SDK client found. Create one with "new Api()" to fix this error.`);
        }
        return instance;
    }
    
    set(value: T, key?: string): void {
        this.instances.set(key ?? this.defaultKey, value);
    }
}

export class Api extends HeyApiClient {
    public static readonly __registry: HeyApiRegistry<Api> = new HeyApiRegistry<Api>();
    
    constructor(args?: {
        client?: Client;
        key?: string;
    }) {
        super(args);
        Api.__registry.set(this, args?.key);
    }
    
    /**
     * Check the process
     */
    public getHealth<ThrowOnError extends boolean = true>(options?: Options<GetHealthData, ThrowOnError>): RequestResult<GetHealthResponses, GetHealthErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<GetHealthResponses, GetHealthErrors, ThrowOnError>({ url: '/healthz', ...options });
    }
    
    /**
     * Check MySQL, Redis and the schema
     */
    public getReadiness<ThrowOnError extends boolean = true>(options?: Options<GetReadinessData, ThrowOnError>): RequestResult<GetReadinessResponses, GetReadinessErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<GetReadinessResponses, GetReadinessErrors, ThrowOnError>({ url: '/readyz', ...options });
    }
    
    /**
     * List your webhooks
     *
     * Lists webhooks, the oldest first. If there is a next page, the header Link has its path.
     */
    public listWebhooks<ThrowOnError extends boolean = true>(options?: Options<ListWebhooksData, ThrowOnError>): RequestResult<ListWebhooksResponses, ListWebhooksErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<ListWebhooksResponses, ListWebhooksErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/webhooks',
            ...options
        });
    }
    
    /**
     * Create a webhook
     *
     * Every matching movement that is stored from now on is sent to the endpoint as a signed POST, and retried for about three days. With the delivery pull, there is no endpoint and no secret, and the events are read from GET /v1/webhooks/{id}/feed. With the event WITHDRAWN_TRANSACTION, the endpoint is sent withdrawals of movements: in place of new movements, or beside them if events lists both. With the event OPERATIONAL, the endpoint is sent operational events in place of movements: what fails at your webhooks, imports and sources. Its account must be all, and its encoding json. With the event BALANCE_UPDATED, the endpoint is sent newer closing balances of the account, in JSON. The secret is shown only in this answer.
     */
    public createWebhook<ThrowOnError extends boolean = true>(options: Options<CreateWebhookData, ThrowOnError>): RequestResult<CreateWebhookResponses, CreateWebhookErrors, ThrowOnError> {
        return (options.client ?? this.client).post<CreateWebhookResponses, CreateWebhookErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/webhooks',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * Delete a webhook
     *
     * Nothing more is sent to the webhook, and its pending deliveries become cancelled. The log of its deliveries is kept as long as that of other webhooks.
     */
    public deleteWebhook<ThrowOnError extends boolean = true>(options: Options<DeleteWebhookData, ThrowOnError>): RequestResult<DeleteWebhookResponses, DeleteWebhookErrors, ThrowOnError> {
        return (options.client ?? this.client).delete<DeleteWebhookResponses, DeleteWebhookErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/webhooks/{id}',
            ...options
        });
    }
    
    /**
     * Get a webhook
     */
    public getWebhook<ThrowOnError extends boolean = true>(options: Options<GetWebhookData, ThrowOnError>): RequestResult<GetWebhookResponses, GetWebhookErrors, ThrowOnError> {
        return (options.client ?? this.client).get<GetWebhookResponses, GetWebhookErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/webhooks/{id}',
            ...options
        });
    }
    
    /**
     * Change a webhook, pause it, or activate it
     *
     * Changes any field of the webhook, or its status. A paused webhook keeps matching movements, which are pending until it is active again. Set status to active to enable a disabled webhook. A status of active, a new endpoint and new headers also reset the health of the endpoint. Deliveries that are pending at that time are sent with the new settings. A new event or account applies to movements that are stored from now on. event and events each replace all events of the webhook. The event cannot be changed to or from OPERATIONAL or BALANCE_UPDATED, nor the account of a webhook with the event BALANCE_UPDATED.
     */
    public updateWebhook<ThrowOnError extends boolean = true>(options: Options<UpdateWebhookData, ThrowOnError>): RequestResult<UpdateWebhookResponses, UpdateWebhookErrors, ThrowOnError> {
        return (options.client ?? this.client).patch<UpdateWebhookResponses, UpdateWebhookErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/webhooks/{id}',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * Send a test notification
     *
     * Sends one POST immediately, whatever the status of the webhook, with the header webhook-test: true and made-up values. It is not retried or logged, and does not change the webhook. You get the answer when the endpoint has answered, at most 15 seconds later. If the delivery is pull, the sample comes with the next answer of the feed, and its id begins with msg_test_. At most 10 tests per minute are sent for a customer, and as many to the host and port of an endpoint.
     */
    public testWebhook<ThrowOnError extends boolean = true>(options: Options<TestWebhookData, ThrowOnError>): RequestResult<TestWebhookResponses, TestWebhookErrors, ThrowOnError> {
        return (options.client ?? this.client).post<TestWebhookResponses, TestWebhookErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/webhooks/{id}/test',
            ...options
        });
    }
    
    /**
     * Replace a webhook's secret
     *
     * For 24 hours, notifications have two signatures: one with the new secret and one with the previous one. If you replace the secret again within that time, the last two secrets sign. A webhook with the delivery pull signs nothing, and has no secret to replace.
     */
    public rotateWebhookSecret<ThrowOnError extends boolean = true>(options: Options<RotateWebhookSecretData, ThrowOnError>): RequestResult<RotateWebhookSecretResponses, RotateWebhookSecretErrors, ThrowOnError> {
        return (options.client ?? this.client).post<RotateWebhookSecretResponses, RotateWebhookSecretErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/webhooks/{id}/rotate-secret',
            ...options
        });
    }
    
    /**
     * Replay notifications of a webhook
     *
     * Sends the deliveries of movements that were stored from since to until, both inclusive, again: the failed ones, or those with the statuses in status. The request is answered immediately, however many there are. They become pending one after the other, with the same webhook-id and a new retry schedule. If the webhook is paused, they are sent when it is active again. If it is disabled or deleted, the answer is 409. With dry_run=true nothing is sent: the answer says how many deliveries match. A feed has only since: its acknowledged position moves back, and cursors that were handed out before are answered 410.
     */
    public replayWebhook<ThrowOnError extends boolean = true>(options: Options<ReplayWebhookData, ThrowOnError>): RequestResult<ReplayWebhookResponses, ReplayWebhookErrors, ThrowOnError> {
        return (options.client ?? this.client).post<ReplayWebhookResponses, ReplayWebhookErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/webhooks/{id}/replay',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * List the replays of a webhook
     *
     * Lists replays with what is sent and left, the newest first. Finished replays are removed after as long as deliveries. If there is a next page, the header Link has its path.
     */
    public listReplays<ThrowOnError extends boolean = true>(options: Options<ListReplaysData, ThrowOnError>): RequestResult<ListReplaysResponses, ListReplaysErrors, ThrowOnError> {
        return (options.client ?? this.client).get<ListReplaysResponses, ListReplaysErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/webhooks/{id}/replays',
            ...options
        });
    }
    
    /**
     * Show how far a replay is
     *
     * Shows how many deliveries are sent and left, and how many were sent per second since it began.
     */
    public getReplay<ThrowOnError extends boolean = true>(options: Options<GetReplayData, ThrowOnError>): RequestResult<GetReplayResponses, GetReplayErrors, ThrowOnError> {
        return (options.client ?? this.client).get<GetReplayResponses, GetReplayErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/replays/{id}',
            ...options
        });
    }
    
    /**
     * Cancel a replay
     *
     * Nothing more of the replay is sent. Its pending deliveries become delivered or failed again, as their last attempt ended. What was sent stays; a POST that is in flight may still arrive. Deliveries that were pending before the replay, and those of new movements, are sent. Cancelling it once more changes nothing. If it is done, the answer is 409.
     */
    public cancelReplay<ThrowOnError extends boolean = true>(options: Options<CancelReplayData, ThrowOnError>): RequestResult<CancelReplayResponses, CancelReplayErrors, ThrowOnError> {
        return (options.client ?? this.client).post<CancelReplayResponses, CancelReplayErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/replays/{id}/cancel',
            ...options
        });
    }
    
    /**
     * Read the feed of a webhook
     *
     * Answers the next events of a webhook with the delivery pull, the oldest first. cursor is that of the answer before, and acknowledges all events before it, durably, before the answer. Without cursor, the answer begins after the last acknowledged event. An earlier cursor only reads again. If the header Accept prefers text/event-stream, the answer is a stream of server-sent events: data is an event, and id its cursor, which the header Last-Event-ID gives back. A stream ends after 30 seconds or 1000 events; connect again then.
     */
    public readFeed<ThrowOnError extends boolean = true>(options: Options<ReadFeedData, ThrowOnError>): RequestResult<ReadFeedResponses, ReadFeedErrors, ThrowOnError> {
        return (options.client ?? this.client).get<ReadFeedResponses, ReadFeedErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/webhooks/{id}/feed',
            ...options
        });
    }
    
    /**
     * List the deliveries of a webhook
     *
     * Lists deliveries, the newest movement first. If there is a next page, the header Link has its path. If only a few of very many deliveries match, a page may have fewer than per_page deliveries, or none, and still have a next page.
     */
    public listWebhookDeliveries<ThrowOnError extends boolean = true>(options: Options<ListWebhookDeliveriesData, ThrowOnError>): RequestResult<ListWebhookDeliveriesResponses, ListWebhookDeliveriesErrors, ThrowOnError> {
        return (options.client ?? this.client).get<ListWebhookDeliveriesResponses, ListWebhookDeliveriesErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/webhooks/{id}/deliveries',
            ...options
        });
    }
    
    /**
     * Get a delivery and its attempts
     *
     * The id of a delivery is <webhook_id>-<transaction_id>: what follows msg_ in the header webhook-id. attempts is the number of attempts, and log lists those that are still kept. rejected_batches lists batches of up to a thousand events around this one that the receiver has rejected as a whole with 400, 413 or 422 (of the newest 100 of the webhook). Their events were sent again in smaller batches, and have no attempt by this.
     */
    public getDelivery<ThrowOnError extends boolean = true>(options: Options<GetDeliveryData, ThrowOnError>): RequestResult<GetDeliveryResponses, GetDeliveryErrors, ThrowOnError> {
        return (options.client ?? this.client).get<GetDeliveryResponses, GetDeliveryErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/deliveries/{id}',
            ...options
        });
    }
    
    /**
     * Send a notification again
     *
     * A delivered or failed delivery becomes pending again, with the same webhook-id and a new retry schedule. A pending one becomes due now. If the webhook is paused, the delivery is sent when the webhook is active again. If the webhook is disabled or deleted, or the account of the movement is being deleted, the answer is 409.
     */
    public redeliver<ThrowOnError extends boolean = true>(options: Options<RedeliverData, ThrowOnError>): RequestResult<RedeliverResponses, RedeliverErrors, ThrowOnError> {
        return (options.client ?? this.client).post<RedeliverResponses, RedeliverErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/deliveries/{id}/redeliver',
            ...options
        });
    }
    
    /**
     * List movements
     *
     * Lists movements in the order of their ids, without those that were withdrawn, or only these with withdrawn=only, in the order of their withdrawals. Give at least one of starts, ends, after, unique_id and import_id. To read all pages, follow the header Link, rel="next": its cost does not grow with the number of pages. A page behind the last one is an empty list. With q, an amount, opponent_iban, import_id or withdrawn, a page ends after 200,000 movements that were looked at, perhaps with nothing; Link then leads on, and Ledgerbell-Searched-Through says how far the search has come. If format is csv, or the header Accept prefers text/csv, the answer is a CSV file of all pages (RFC 4180), in UTF-8 and with the names of the columns in its first line. A CSV that could not be completed ends with a broken connection.
     */
    public listTransactions<ThrowOnError extends boolean = true>(options?: Options<ListTransactionsData, ThrowOnError>): RequestResult<ListTransactionsResponses, ListTransactionsErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<ListTransactionsResponses, ListTransactionsErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/transactions',
            ...options
        });
    }
    
    /**
     * Get a movement
     *
     * Shows a movement, also one that was withdrawn, with withdrawn_at and withdrawn_reason.
     */
    public getTransaction<ThrowOnError extends boolean = true>(options: Options<GetTransactionData, ThrowOnError>): RequestResult<GetTransactionResponses, GetTransactionErrors, ThrowOnError> {
        return (options.client ?? this.client).get<GetTransactionResponses, GetTransactionErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/transactions/{id}',
            ...options
        });
    }
    
    /**
     * List the deliveries of a movement
     *
     * Shows which webhooks the movement was or will be sent to, and what their endpoints answered: one delivery for each webhook.
     */
    public listTransactionDeliveries<ThrowOnError extends boolean = true>(options: Options<ListTransactionDeliveriesData, ThrowOnError>): RequestResult<ListTransactionDeliveriesResponses, ListTransactionDeliveriesErrors, ThrowOnError> {
        return (options.client ?? this.client).get<ListTransactionDeliveriesResponses, ListTransactionDeliveriesErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/transactions/{id}/deliveries',
            ...options
        });
    }
    
    /**
     * List your accounts
     *
     * Lists the accounts that the API key can see, the oldest first. If there is a next page, the header Link has its path.
     */
    public listAccounts<ThrowOnError extends boolean = true>(options?: Options<ListAccountsData, ThrowOnError>): RequestResult<ListAccountsResponses, ListAccountsErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<ListAccountsResponses, ListAccountsErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/accounts',
            ...options
        });
    }
    
    /**
     * Create an account
     *
     * Name the bank by its id (bank_id) or by its name (bank). A new name is added to your banks.
     */
    public createAccount<ThrowOnError extends boolean = true>(options: Options<CreateAccountData, ThrowOnError>): RequestResult<CreateAccountResponses, CreateAccountErrors, ThrowOnError> {
        return (options.client ?? this.client).post<CreateAccountResponses, CreateAccountErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/accounts',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * Delete an account
     *
     * Deletes the account with its movements, their deliveries and its webhooks. It cannot be undone. From the answer on, no movement of the account is stored or sent. What was pending ends as failed. The rows are deleted afterwards: until then the account is shown with the status deleting, and with how far the deletion is. Then it is gone (404). Imports keep their counts, and the body of a failed import that does not name this account stays until the import is removed.
     */
    public deleteAccount<ThrowOnError extends boolean = true>(options: Options<DeleteAccountData, ThrowOnError>): RequestResult<DeleteAccountResponses, DeleteAccountErrors, ThrowOnError> {
        return (options.client ?? this.client).delete<DeleteAccountResponses, DeleteAccountErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/accounts/{id}',
            ...options
        });
    }
    
    /**
     * Get an account
     */
    public getAccount<ThrowOnError extends boolean = true>(options: Options<GetAccountData, ThrowOnError>): RequestResult<GetAccountResponses, GetAccountErrors, ThrowOnError> {
        return (options.client ?? this.client).get<GetAccountResponses, GetAccountErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/accounts/{id}',
            ...options
        });
    }
    
    /**
     * Change the bank, the title, the IBAN or the number of an account
     *
     * Statements find the account by the new IBAN or number from now on. null removes one. The currency cannot be changed. An IBAN that another of your accounts in the same currency has is refused with 422. Needs a key for all accounts.
     */
    public updateAccount<ThrowOnError extends boolean = true>(options: Options<UpdateAccountData, ThrowOnError>): RequestResult<UpdateAccountResponses, UpdateAccountErrors, ThrowOnError> {
        return (options.client ?? this.client).patch<UpdateAccountResponses, UpdateAccountErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/accounts/{id}',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * List the movements of an account
     *
     * Lists movements in the order of their ids, without those that were withdrawn, or only these with withdrawn=only, in the order of their withdrawals. Give at least one of starts, ends, after, unique_id and import_id. To read all pages, follow the header Link, rel="next": its cost does not grow with the number of pages. A page behind the last one is an empty list. With q, an amount, opponent_iban, import_id or withdrawn, a page ends after 200,000 movements that were looked at, perhaps with nothing; Link then leads on, and Ledgerbell-Searched-Through says how far the search has come. If format is csv, or the header Accept prefers text/csv, the answer is a CSV file of all pages (RFC 4180), in UTF-8 and with the names of the columns in its first line. A CSV that could not be completed ends with a broken connection.
     */
    public listAccountTransactions<ThrowOnError extends boolean = true>(options: Options<ListAccountTransactionsData, ThrowOnError>): RequestResult<ListAccountTransactionsResponses, ListAccountTransactionsErrors, ThrowOnError> {
        return (options.client ?? this.client).get<ListAccountTransactionsResponses, ListAccountTransactionsErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/accounts/{account_id}/transactions',
            ...options
        });
    }
    
    /**
     * List the balances of an account
     *
     * Lists the balance at the end of each day for which one is known, the last day first, with where it comes from: the closing balance of a statement, or else the balance after the last movement of the day. If there is a next page, the header Link has its path. If there are very many movements a day, a page may have fewer than per_page balances, or none, and still have a next page.
     */
    public listBalances<ThrowOnError extends boolean = true>(options: Options<ListBalancesData, ThrowOnError>): RequestResult<ListBalancesResponses, ListBalancesErrors, ThrowOnError> {
        return (options.client ?? this.client).get<ListBalancesResponses, ListBalancesErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/accounts/{id}/balances',
            ...options
        });
    }
    
    /**
     * List the statements of an account
     *
     * Lists the statements that files have brought, each once, the last received first. If there is a next page, the header Link has its path.
     */
    public listStatements<ThrowOnError extends boolean = true>(options: Options<ListStatementsData, ThrowOnError>): RequestResult<ListStatementsResponses, ListStatementsErrors, ThrowOnError> {
        return (options.client ?? this.client).get<ListStatementsResponses, ListStatementsErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/accounts/{id}/statements',
            ...options
        });
    }
    
    /**
     * Find out whether the statements of an account are complete
     *
     * The closing balance of a statement is the opening balance of the next. Where it is not, one is missing: a gap, which is gone when the missing file has come.
     */
    public getCompleteness<ThrowOnError extends boolean = true>(options: Options<GetCompletenessData, ThrowOnError>): RequestResult<GetCompletenessResponses, GetCompletenessErrors, ThrowOnError> {
        return (options.client ?? this.client).get<GetCompletenessResponses, GetCompletenessErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/accounts/{id}/completeness',
            ...options
        });
    }
    
    /**
     * List your banks
     *
     * Lists the banks of the customer, the oldest first. If there is a next page, the header Link has its path.
     */
    public listBanks<ThrowOnError extends boolean = true>(options?: Options<ListBanksData, ThrowOnError>): RequestResult<ListBanksResponses, ListBanksErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<ListBanksResponses, ListBanksErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/banks',
            ...options
        });
    }
    
    /**
     * List your API keys
     *
     * Lists the API keys, the oldest first, without the keys themselves. If there is a next page, the header Link has its path.
     */
    public listApiKeys<ThrowOnError extends boolean = true>(options?: Options<ListApiKeysData, ThrowOnError>): RequestResult<ListApiKeysResponses, ListApiKeysErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<ListApiKeysResponses, ListApiKeysErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/apikeys',
            ...options
        });
    }
    
    /**
     * Create an API key
     *
     * Creates an API key for all accounts, including those that you create later, or for a list of accounts. A limited key sees only its accounts, their movements and their webhooks. The key itself is shown only in this answer.
     */
    public createApiKey<ThrowOnError extends boolean = true>(options: Options<CreateApiKeyData, ThrowOnError>): RequestResult<CreateApiKeyResponses, CreateApiKeyErrors, ThrowOnError> {
        return (options.client ?? this.client).post<CreateApiKeyResponses, CreateApiKeyErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/apikeys',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * Delete an API key
     *
     * Requests with a deleted key are answered 401. A key can delete itself. A key cannot be deleted while an import that was sent with it is queued or running.
     */
    public deleteApiKey<ThrowOnError extends boolean = true>(options: Options<DeleteApiKeyData, ThrowOnError>): RequestResult<DeleteApiKeyResponses, DeleteApiKeyErrors, ThrowOnError> {
        return (options.client ?? this.client).delete<DeleteApiKeyResponses, DeleteApiKeyErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/apikeys/{id}',
            ...options
        });
    }
    
    /**
     * Get the API secret
     *
     * The API secret is part of the hash in every notification.
     */
    public getApiSecret<ThrowOnError extends boolean = true>(options?: Options<GetApiSecretData, ThrowOnError>): RequestResult<GetApiSecretResponses, GetApiSecretErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<GetApiSecretResponses, GetApiSecretErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/settings/api',
            ...options
        });
    }
    
    /**
     * Replace the API secret
     *
     * The new secret replaces the old one immediately, without an overlap. The hash of every notification that is sent from now on, retries included, uses the new secret. The signatures of webhooks do not change.
     */
    public rotateApiSecret<ThrowOnError extends boolean = true>(options?: Options<RotateApiSecretData, ThrowOnError>): RequestResult<RotateApiSecretResponses, RotateApiSecretErrors, ThrowOnError> {
        return (options?.client ?? this.client).post<RotateApiSecretResponses, RotateApiSecretErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/settings/api/rotate',
            ...options
        });
    }
    
    /**
     * List your imports
     *
     * Lists imports, the newest first. If there is a next page, the header Link has its path. A limited API key sees only the imports that were sent with it, or collected for one of its accounts.
     */
    public listImports<ThrowOnError extends boolean = true>(options?: Options<ListImportsData, ThrowOnError>): RequestResult<ListImportsResponses, ListImportsErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<ListImportsResponses, ListImportsErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/imports',
            ...options
        });
    }
    
    /**
     * Import movements
     *
     * The answer is sent when the body is committed. The movements are stored and notified afterwards; those of a small JSON body are often stored already. A JSON body is checked as a whole, and refused as a whole. In NDJSON each line is checked alone: GET /v1/imports/{id}/errors lists the rejected ones. A statement file (MT940, MT942, CAMT, OFX, CSV, XLSX, BAI2, Norma 43, CFONB 120 or CODA; also in gzip or zip) is sent as it is, or as the field file of a form. One that is recognised as nothing is refused; one that cannot be read further on ends as failed. With dry_run=true nothing is stored: the answer is 200 with what would be. You can repeat a request safely for 24 hours if you send an Idempotency-Key.
     */
    public createImport<ThrowOnError extends boolean = true>(options: Options<CreateImportData, ThrowOnError>): RequestResult<CreateImportResponses, CreateImportErrors, ThrowOnError> {
        return (options.client ?? this.client).post<CreateImportResponses, CreateImportErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/imports',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * Get an import
     */
    public getImport<ThrowOnError extends boolean = true>(options: Options<GetImportData, ThrowOnError>): RequestResult<GetImportResponses, GetImportErrors, ThrowOnError> {
        return (options.client ?? this.client).get<GetImportResponses, GetImportErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/imports/{id}',
            ...options
        });
    }
    
    /**
     * List the rejected rows of an import
     *
     * Lists why rows were rejected. The other rows are stored. At most 10,000 rejected rows and 10,000 warnings are listed, and rows of a statement that are rejected for the same reason are listed once. rejected and warnings in the import count all of them.
     */
    public listImportRejections<ThrowOnError extends boolean = true>(options: Options<ListImportRejectionsData, ThrowOnError>): RequestResult<ListImportRejectionsResponses, ListImportRejectionsErrors, ThrowOnError> {
        return (options.client ?? this.client).get<ListImportRejectionsResponses, ListImportRejectionsErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/imports/{id}/errors',
            ...options
        });
    }
    
    /**
     * List the files of a zip
     *
     * Lists what came of each file of a zip, in the order of the zip. Empty until the import is done, and for an import that is no zip.
     */
    public listImportFiles<ThrowOnError extends boolean = true>(options: Options<ListImportFilesData, ThrowOnError>): RequestResult<ListImportFilesResponses, ListImportFilesErrors, ThrowOnError> {
        return (options.client ?? this.client).get<ListImportFilesResponses, ListImportFilesErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/imports/{id}/files',
            ...options
        });
    }
    
    /**
     * List the known and assumed rows of an import
     *
     * Lists the rows that were taken for a stored movement, with its id. At most 10,000 are listed; duplicates, conflicts and assumed_new in the import count all of them. same: the same unique_id and content, or the same reference or balance in a statement. changed: another text or balance. assumed: nothing tells the two apart, and nothing proves that they are the same. conflict: another direction, amount or date. assumed_new: the row was stored, and transaction_id is its movement; nothing proves that it is not a stored one.
     */
    public listImportDuplicates<ThrowOnError extends boolean = true>(options: Options<ListImportDuplicatesData, ThrowOnError>): RequestResult<ListImportDuplicatesResponses, ListImportDuplicatesErrors, ThrowOnError> {
        return (options.client ?? this.client).get<ListImportDuplicatesResponses, ListImportDuplicatesErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/imports/{id}/duplicates',
            ...options
        });
    }
    
    /**
     * Retry a failed import
     *
     * Queues a failed import again. It continues after the rows that are stored already, so nothing is stored twice. For an import with another status, or whose API key was deleted, the answer is 409.
     */
    public retryImport<ThrowOnError extends boolean = true>(options: Options<RetryImportData, ThrowOnError>): RequestResult<RetryImportResponses, RetryImportErrors, ThrowOnError> {
        return (options.client ?? this.client).post<RetryImportResponses, RetryImportErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/imports/{id}/retry',
            ...options
        });
    }
    
    /**
     * List conflicts
     *
     * Lists rows that came with the unique_id of a stored movement and another direction, amount or date, beside that movement, the newest first. If there is a next page, the header Link has its path.
     */
    public listConflicts<ThrowOnError extends boolean = true>(options?: Options<ListConflictsData, ThrowOnError>): RequestResult<ListConflictsResponses, ListConflictsErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<ListConflictsResponses, ListConflictsErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/conflicts',
            ...options
        });
    }
    
    /**
     * Get a conflict
     */
    public getConflict<ThrowOnError extends boolean = true>(options: Options<GetConflictData, ThrowOnError>): RequestResult<GetConflictResponses, GetConflictErrors, ThrowOnError> {
        return (options.client ?? this.client).get<GetConflictResponses, GetConflictErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/conflicts/{id}',
            ...options
        });
    }
    
    /**
     * Decide a conflict
     *
     * store: the received row is stored as a movement under an id of its own, and sent to the webhooks that match it. ignore: it is not. A decision cannot be changed: for the other one, the answer is 409.
     */
    public decideConflict<ThrowOnError extends boolean = true>(options: Options<DecideConflictData, ThrowOnError>): RequestResult<DecideConflictResponses, DecideConflictErrors, ThrowOnError> {
        return (options.client ?? this.client).post<DecideConflictResponses, DecideConflictErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/conflicts/{id}',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * Withdraw an import
     *
     * Takes back what an import has stored by mistake. Movements that another statement, or another JSON import, has too are kept. The others are left out of the listings, and webhooks for WITHDRAWN_TRANSACTION hear of them. What is pending of them ends as failed. The same withdrawal is carried out once. With dry_run=true nothing changes: the answer is 200 with what would be.
     */
    public withdrawImport<ThrowOnError extends boolean = true>(options: Options<WithdrawImportData, ThrowOnError>): RequestResult<WithdrawImportResponses, WithdrawImportErrors, ThrowOnError> {
        return (options.client ?? this.client).post<WithdrawImportResponses, WithdrawImportErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/imports/{id}/withdraw',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * Withdraw a statement
     *
     * Takes back a statement that the bank has replaced, with its entries. Movements that another statement, or another JSON import, has too are kept. The others are left out of the listings, and webhooks for WITHDRAWN_TRANSACTION hear of them. What is pending of them ends as failed. The same withdrawal is carried out once. With dry_run=true nothing changes: the answer is 200 with what would be.
     */
    public withdrawStatement<ThrowOnError extends boolean = true>(options: Options<WithdrawStatementData, ThrowOnError>): RequestResult<WithdrawStatementResponses, WithdrawStatementErrors, ThrowOnError> {
        return (options.client ?? this.client).post<WithdrawStatementResponses, WithdrawStatementErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/statements/{id}/withdraw',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * List withdrawals
     *
     * Lists withdrawals, the newest first. If there is a next page, the header Link has its path.
     */
    public listWithdrawals<ThrowOnError extends boolean = true>(options?: Options<ListWithdrawalsData, ThrowOnError>): RequestResult<ListWithdrawalsResponses, ListWithdrawalsErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<ListWithdrawalsResponses, ListWithdrawalsErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/withdrawals',
            ...options
        });
    }
    
    /**
     * Get a withdrawal
     */
    public getWithdrawal<ThrowOnError extends boolean = true>(options: Options<GetWithdrawalData, ThrowOnError>): RequestResult<GetWithdrawalResponses, GetWithdrawalErrors, ThrowOnError> {
        return (options.client ?? this.client).get<GetWithdrawalResponses, GetWithdrawalErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/withdrawals/{id}',
            ...options
        });
    }
    
    /**
     * List your sources
     *
     * Lists sources, the oldest first. If there is a next page, the header Link has its path. A limited API key sees the sources of its accounts.
     */
    public listSources<ThrowOnError extends boolean = true>(options?: Options<ListSourcesData, ThrowOnError>): RequestResult<ListSourcesResponses, ListSourcesErrors, ThrowOnError> {
        return (options?.client ?? this.client).get<ListSourcesResponses, ListSourcesErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/sources',
            ...options
        });
    }
    
    /**
     * Create a source
     *
     * Collects statement files from a place on a schedule, and imports them. A source with an interval runs immediately for the first time, one with a cron expression when it is due. The kind decides which settings and credentials there are. Needs a key for all accounts.
     */
    public createSource<ThrowOnError extends boolean = true>(options: Options<CreateSourceData, ThrowOnError>): RequestResult<CreateSourceResponses, CreateSourceErrors, ThrowOnError> {
        return (options.client ?? this.client).post<CreateSourceResponses, CreateSourceErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/sources',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * Delete a source
     *
     * Nothing more is collected from the source, a run in progress ends, and its credentials are deleted. Its imports and movements stay. Needs a key for all accounts.
     */
    public deleteSource<ThrowOnError extends boolean = true>(options: Options<DeleteSourceData, ThrowOnError>): RequestResult<DeleteSourceResponses, DeleteSourceErrors, ThrowOnError> {
        return (options.client ?? this.client).delete<DeleteSourceResponses, DeleteSourceErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/sources/{id}',
            ...options
        });
    }
    
    /**
     * Get a source
     */
    public getSource<ThrowOnError extends boolean = true>(options: Options<GetSourceData, ThrowOnError>): RequestResult<GetSourceResponses, GetSourceErrors, ThrowOnError> {
        return (options.client ?? this.client).get<GetSourceResponses, GetSourceErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/sources/{id}',
            ...options
        });
    }
    
    /**
     * Change a source, pause it, or activate it
     *
     * Changes any field of the source but its kind, or its status. Settings and credentials are replaced as a whole; a run in progress ends, and the next one begins immediately. With other settings, everything in the source is collected anew; movements that are stored are not stored twice. Needs a key for all accounts.
     */
    public updateSource<ThrowOnError extends boolean = true>(options: Options<UpdateSourceData, ThrowOnError>): RequestResult<UpdateSourceResponses, UpdateSourceErrors, ThrowOnError> {
        return (options.client ?? this.client).patch<UpdateSourceResponses, UpdateSourceErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/sources/{id}',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * Run a source now
     *
     * Runs the source now, whatever its schedule, also while it waits after a failure or is paused. If a run is in progress, another one follows it. GET /v1/sources/{id}/runs shows how it ends: the run that was asked for is the first one after previous_run_id.
     */
    public runSource<ThrowOnError extends boolean = true>(options: Options<RunSourceData, ThrowOnError>): RequestResult<RunSourceResponses, RunSourceErrors, ThrowOnError> {
        return (options.client ?? this.client).post<RunSourceResponses, RunSourceErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/sources/{id}/run',
            ...options
        });
    }
    
    /**
     * Collect a withdrawn file again
     *
     * Collects the file of a withdrawn import once more, for example after the account of the source was corrected, and runs the source now. A file that the source has moved is moved back by the run. If the file is not there any more, the error of the run says where it was looked for.
     */
    public collectSourceAgain<ThrowOnError extends boolean = true>(options: Options<CollectSourceAgainData, ThrowOnError>): RequestResult<CollectSourceAgainResponses, CollectSourceAgainErrors, ThrowOnError> {
        return (options.client ?? this.client).post<CollectSourceAgainResponses, CollectSourceAgainErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/sources/{id}/collect-again',
            ...options,
            headers: {
                'Content-Type': 'application/json',
                ...options.headers
            }
        });
    }
    
    /**
     * List the runs of a source
     *
     * Lists the runs of a source, the newest first. If there is a next page, the header Link has its path. The newest 1,000 runs are kept.
     */
    public listSourceRuns<ThrowOnError extends boolean = true>(options: Options<ListSourceRunsData, ThrowOnError>): RequestResult<ListSourceRunsResponses, ListSourceRunsErrors, ThrowOnError> {
        return (options.client ?? this.client).get<ListSourceRunsResponses, ListSourceRunsErrors, ThrowOnError>({
            security: [{ name: 'Authentication', type: 'apiKey' }, { scheme: 'bearer', type: 'http' }],
            url: '/v1/sources/{id}/runs',
            ...options
        });
    }
}
