// @ts-nocheck
// Made by openapi-ts: npm run sdk

export type ClientOptions = {
    baseUrl: `${string}://${string}` | (string & {});
};

export type ProblemIssue = {
    /**
     * The parameter, header, or path in the body.
     */
    path: string;
    /**
     * What is allowed.
     */
    message: string;
};

export type Problem = {
    /**
     * Which error it is. GET this path for an explanation.
     */
    type: string;
    /**
     * The error in a few words, the same for every occurrence.
     */
    title: string;
    /**
     * The HTTP status.
     */
    status: number;
    /**
     * What was wrong with this request, and what to do.
     */
    detail: string;
    /**
     * The same text as detail.
     */
    message: string;
    /**
     * Identifies the request in the log of the service.
     */
    request_id: string;
    /**
     * Each value that is not allowed.
     */
    errors?: Array<ProblemIssue>;
};

export type ProblemWithErrors = Problem & {
    [key: string]: unknown;
};

export type MalformedProblem = Problem & {
    type?: '/problems/malformed';
    status?: 400;
};

export type MalformedJsonProblem = Problem & {
    type?: '/problems/malformed-json';
    status?: 400;
};

export type MissingOperatorTokenProblem = Problem & {
    type?: '/problems/missing-operator-token';
    status?: 401;
};

export type UnknownOperatorTokenProblem = Problem & {
    type?: '/problems/unknown-operator-token';
    status?: 401;
};

export type MissingRoleProblem = Problem & {
    type?: '/problems/missing-role';
    status?: 403;
};

export type UnknownCustomerProblem = Problem & {
    type?: '/problems/unknown-customer';
    status?: 404;
};

export type NotFoundProblem = Problem & {
    type?: '/problems/not-found';
    status?: 404;
};

export type RequestTimeoutProblem = Problem & {
    type?: '/problems/request-timeout';
    status?: 408;
};

export type TooLargeProblem = Problem & {
    type?: '/problems/too-large';
    status?: 413;
};

export type UnsupportedMediaTypeProblem = Problem & {
    type?: '/problems/unsupported-media-type';
    status?: 415;
};

export type UnsupportedContentEncodingProblem = Problem & {
    type?: '/problems/unsupported-content-encoding';
    status?: 415;
};

export type InvalidProblem = ProblemWithErrors & {
    type?: '/problems/invalid';
    status?: 422;
};

export type EndpointRefusedProblem = ProblemWithErrors & {
    type?: '/problems/endpoint-refused';
    status?: 422;
};

export type HeadersTooLargeProblem = Problem & {
    type?: '/problems/headers-too-large';
    status?: 431;
};

export type RequestInProgressProblem = Problem & {
    type?: '/problems/request-in-progress';
    status?: 409;
};

export type IdempotencyKeyReusedProblem = Problem & {
    type?: '/problems/idempotency-key-reused';
    status?: 409;
};

export type CustomerDeletingProblem = Problem & {
    type?: '/problems/customer-deleting';
    status?: 409;
};

export type ExternalIdTakenProblem = Problem & {
    type?: '/problems/external-id-taken';
    status?: 409;
};

export type OperatorTokenLimitReachedProblem = Problem & {
    type?: '/problems/operator-token-limit-reached';
    status?: 409;
};

export type PulledWebhookProblem = Problem & {
    type?: '/problems/pulled-webhook';
    status?: 409;
};

export type WebhookLimitReachedProblem = Problem & {
    type?: '/problems/webhook-limit-reached';
    status?: 409;
};

export type OperatorCustomerProblem = Problem & {
    type?: '/problems/operator-customer';
    status?: 409;
};

export type ReplayUnderWayProblem = Problem & {
    type?: '/problems/replay-under-way';
    status?: 409;
};

export type TemplateLimitReachedProblem = Problem & {
    type?: '/problems/template-limit-reached';
    status?: 409;
};

export type AccountLimitReachedProblem = Problem & {
    type?: '/problems/account-limit-reached';
    status?: 409;
};

export type TooManyUnknownTokensProblem = Problem & {
    type?: '/problems/too-many-unknown-tokens';
    status?: 429;
};

export type InternalProblem = Problem & {
    type?: '/problems/internal';
    status?: 500;
};

export type DatabaseUnavailableProblem = Problem & {
    type?: '/problems/database-unavailable';
    status?: 503;
};

export type NoApiProcessProblem = Problem & {
    type?: '/problems/no-api-process';
    status?: 503;
};

export type UnansweredProblem = Problem & {
    type?: '/problems/unanswered';
    status?: 503;
};

export type BusyProblem = Problem & {
    type?: '/problems/busy';
    status?: 503;
};

export type Bank = {
    id: number;
    name: string;
};

export type Account = {
    id: number;
    bank: Bank;
    title: string;
    /**
     * The newest balance that the bank has stated, plus what was booked on later days. Without a statement: that of the newest movement that has one. null: none has.
     */
    balance: string | null;
    /**
     * statement: balance begins with the closing balance of the newest statement. computed: it is that of the newest movement that has one.
     */
    balance_source: 'statement' | 'computed';
    /**
     * The last day of that statement, or the day of that movement.
     */
    balance_date: string | null;
    /**
     * balance less the balance after the newest movement. null: they are the same, or one of them is not known.
     */
    difference: string | null;
    currency: string;
    iban: string | null;
    number: string | null;
    /**
     * active; or deleting, until all of its rows are deleted.
     */
    status: string;
    /**
     * Decides about a row with the unique_id of a stored movement and another direction, amount or date. hold: it waits until you decide, at POST /v1/conflicts/{id}. store: it is stored as well, and sent.
     */
    on_conflict: 'hold' | 'store';
    /**
     * This many days after the last day of a statement, the next one is late: the event statement.late. null: learnt from the statements that have come.
     */
    late_after_days: number | null;
    /**
     * Whether each balance of movements in JSON or NDJSON is compared with the balance before it and the amount. A row that contradicts gives the import a warning.
     */
    check_balances: boolean;
    /**
     * Whether numbers tell apart statements of a day that return to their opening balance. ignore: the bank counts downloads, so that the same bookings come under other numbers.
     */
    statement_numbers: 'use' | 'ignore';
    /**
     * The encoding of text that is not UTF-8 in statement files. null: the letters decide.
     */
    encoding: 'windows-1250' | 'windows-1251' | 'windows-1252' | 'windows-1253' | 'windows-1254' | 'windows-1255' | 'windows-1256' | 'windows-1257' | 'windows-1258' | 'iso-8859-2' | 'iso-8859-5' | 'iso-8859-7' | 'iso-8859-8' | 'iso-8859-15' | 'ibm850' | 'ibm852' | 'ibm857' | 'ibm866' | 'koi8-r' | 'koi8-u' | 'macintosh' | 'gb18030' | 'big5' | 'shift_jis' | 'euc-jp' | 'euc-kr' | null;
    last_work: string | null;
    last_update: string | null;
    error: string | null;
    /**
     * How far the deletion is, while the status is deleting. movements: how many there were when the work began; null: it has not begun.
     */
    deletion?: {
        requested_at: string;
        movements: number | null;
        movements_deleted: number;
    };
};

export type NewAccount = unknown & {
    bank?: string;
    bank_id?: number | string;
    title: string;
    currency: 'AED' | 'AFN' | 'ALL' | 'AMD' | 'ANG' | 'AOA' | 'ARS' | 'AUD' | 'AWG' | 'AZN' | 'BAM' | 'BBD' | 'BDT' | 'BGN' | 'BHD' | 'BIF' | 'BMD' | 'BND' | 'BOB' | 'BRL' | 'BSD' | 'BTN' | 'BWP' | 'BYN' | 'BZD' | 'CAD' | 'CDF' | 'CHF' | 'CLP' | 'CNY' | 'COP' | 'CRC' | 'CUC' | 'CUP' | 'CVE' | 'CZK' | 'DJF' | 'DKK' | 'DOP' | 'DZD' | 'EGP' | 'ERN' | 'ETB' | 'EUR' | 'FJD' | 'FKP' | 'GBP' | 'GEL' | 'GHS' | 'GIP' | 'GMD' | 'GNF' | 'GTQ' | 'GYD' | 'HKD' | 'HNL' | 'HRK' | 'HTG' | 'HUF' | 'IDR' | 'ILS' | 'INR' | 'IQD' | 'IRR' | 'ISK' | 'JMD' | 'JOD' | 'JPY' | 'KES' | 'KGS' | 'KHR' | 'KMF' | 'KPW' | 'KRW' | 'KWD' | 'KYD' | 'KZT' | 'LAK' | 'LBP' | 'LKR' | 'LRD' | 'LSL' | 'LYD' | 'MAD' | 'MDL' | 'MGA' | 'MKD' | 'MMK' | 'MNT' | 'MOP' | 'MRU' | 'MUR' | 'MVR' | 'MWK' | 'MXN' | 'MYR' | 'MZN' | 'NAD' | 'NGN' | 'NIO' | 'NOK' | 'NPR' | 'NZD' | 'OMR' | 'PAB' | 'PEN' | 'PGK' | 'PHP' | 'PKR' | 'PLN' | 'PYG' | 'QAR' | 'RON' | 'RSD' | 'RUB' | 'RWF' | 'SAR' | 'SBD' | 'SCR' | 'SDG' | 'SEK' | 'SGD' | 'SHP' | 'SLE' | 'SLL' | 'SOS' | 'SRD' | 'SSP' | 'STN' | 'SVC' | 'SYP' | 'SZL' | 'THB' | 'TJS' | 'TMT' | 'TND' | 'TOP' | 'TRY' | 'TTD' | 'TWD' | 'TZS' | 'UAH' | 'UGX' | 'USD' | 'UYU' | 'UZS' | 'VES' | 'VND' | 'VUV' | 'WST' | 'XAF' | 'XCD' | 'XCG' | 'XDR' | 'XOF' | 'XPF' | 'XSU' | 'YER' | 'ZAR' | 'ZMW' | 'ZWG' | 'ZWL';
    iban?: string | null;
    /**
     * The account number as the bank writes it. Statements that name no IBAN find the account by it.
     */
    number?: string | null;
    /**
     * Decides about a row with the unique_id of a stored movement and another direction, amount or date. hold: it waits until you decide, at POST /v1/conflicts/{id}. store: it is stored as well, and sent.
     */
    on_conflict?: 'hold' | 'store';
    /**
     * This many days after the last day of a statement, the next one is late: the event statement.late. null: learnt from the statements that have come.
     */
    late_after_days?: number | null;
    /**
     * Whether each balance of movements in JSON or NDJSON is compared with the balance before it and the amount. A row that contradicts gives the import a warning.
     */
    check_balances?: boolean;
    /**
     * Whether numbers tell apart statements of a day that return to their opening balance. ignore: the bank counts downloads, so that the same bookings come under other numbers.
     */
    statement_numbers?: 'use' | 'ignore';
    /**
     * The encoding of text that is not UTF-8 in statement files. null: the letters decide.
     */
    encoding?: 'windows-1250' | 'windows-1251' | 'windows-1252' | 'windows-1253' | 'windows-1254' | 'windows-1255' | 'windows-1256' | 'windows-1257' | 'windows-1258' | 'iso-8859-2' | 'iso-8859-5' | 'iso-8859-7' | 'iso-8859-8' | 'iso-8859-15' | 'ibm850' | 'ibm852' | 'ibm857' | 'ibm866' | 'koi8-r' | 'koi8-u' | 'macintosh' | 'gb18030' | 'big5' | 'shift_jis' | 'euc-jp' | 'euc-kr' | null;
};

export type Webhook = {
    id: number;
    title: string;
    /**
     * What its owner has noted about it.
     */
    description: string | null;
    /**
     * push: POSTs to the endpoint. pull: the feed has the events.
     */
    delivery: 'push' | 'pull';
    /**
     * null: the delivery is pull.
     */
    endpoint: string | null;
    /**
     * Of two events, that of new movements.
     */
    event: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION' | 'OPERATIONAL' | 'BALANCE_UPDATED';
    /**
     * All of its events: one or two.
     */
    events: Array<'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION' | 'OPERATIONAL' | 'BALANCE_UPDATED'>;
    /**
     * "all", or the id of an account
     */
    account: 'all' | number;
    status: 'active' | 'paused' | 'disabled';
    status_reason: string | null;
    /**
     * Shown only when the webhook is created or the secret is replaced. null: the answer to a repeated Idempotency-Key. A webhook with the delivery pull has none.
     */
    secret?: string | null;
    encoding: 'json' | 'form';
    /**
     * extended: the body has one more member, extended, with what the bank says.
     */
    body: 'standard' | 'extended';
    hash_encoding: 'hex' | 'raw';
    ordered: boolean;
    rate_limit: number | null;
    max_in_flight: number;
    /**
     * null: each event is a POST of its own.
     */
    batch: {
        max: number;
        wait_ms: number;
    } | null;
    /**
     * The names of the custom headers. Their values are not shown.
     */
    header_names: Array<string>;
    health: {
        /**
         * open: nothing is sent until open_until. half_open: a single POST checks whether the endpoint has recovered.
         */
        circuit: 'closed' | 'half_open' | 'open';
        open_until: string | null;
        consecutive_failures: number;
        failing_since: string | null;
        /**
         * What went wrong at the last attempt; null when it succeeded.
         */
        last_error: string | null;
    };
    /**
     * null: the delivery is push.
     */
    feed: {
        /**
         * When its reader last acknowledged events. null: never.
         */
        acknowledged_at: string | null;
    } | null;
    deliveries: {
        pending: number;
        delivered: number;
        failed: number;
        /**
         * How many deliveries of replays have still to become pending. They count as delivered or failed until then. null: not counted yet.
         */
        to_come: number | null;
    };
    created_at: string;
    /**
     * What is wrong with it. Empty: nothing is.
     */
    standing: Array<{
        /**
         * failing: its last attempts failed. flapping: it has failed and recovered several times within an hour. behind: its endpoint answers, but a movement has been waiting for more than 5 minutes. unread: an event has been waiting in its feed for more than a day, and its reader has acknowledged nothing since. quarantined: the service has paused it, because its delivery runs kept crashing.
         */
        kind: 'failing' | 'flapping' | 'behind' | 'unread' | 'disabled' | 'quarantined';
        since: string | null;
        /**
         * The same in a sentence.
         */
        message: string;
        /**
         * failing, flapping: when something is sent again. null: nothing is pending.
         */
        next_attempt_at: string | null;
        /**
         * behind: what holds it. recovery: its endpoint is new or has just recovered, and is sent more and more. processes: it waits for its turn in a delivery process.
         */
        limit: 'rate_limit' | 'max_in_flight' | 'ordered' | 'retry' | 'recovering' | 'processes' | null;
        /**
         * behind: movements that came per minute in the last minutes. null: not measured yet.
         */
        in_per_minute: number | null;
        /**
         * behind: deliveries that ended per minute.
         */
        out_per_minute: number | null;
        /**
         * behind: when it has caught up at this pace. null: it does not, or it is not known.
         */
        caught_up_at: string | null;
    }>;
};

export type NewWebhook = {
    title: string;
    description?: string | null;
    /**
     * push: POSTs to the endpoint. pull: GET /v1/webhooks/{id}/feed has the events. Cannot be changed.
     */
    delivery?: 'push' | 'pull';
    /**
     * Required, unless the delivery is pull.
     */
    endpoint?: string;
    /**
     * Its only event. Leave it out if you send events.
     */
    event?: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION' | 'OPERATIONAL' | 'BALANCE_UPDATED';
    /**
     * In place of event: a list of a single event, or of WITHDRAWN_TRANSACTION and one of NEW_TRANSACTION, NEW_DEBIT and NEW_CREDIT.
     */
    events?: Array<'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION' | 'OPERATIONAL' | 'BALANCE_UPDATED'>;
    account: 'all' | number | string;
    encoding?: 'json' | 'form';
    body?: 'standard' | 'extended';
    hash_encoding?: 'hex' | 'raw';
    ordered?: boolean;
    rate_limit?: number | null;
    max_in_flight?: number;
    /**
     * Events are sent together: up to max of them in one POST. A batch that is not full waits for up to wait_ms milliseconds. null: each event is a POST of its own.
     */
    batch?: {
        max: number;
        wait_ms?: number;
    } | null;
    headers?: {
        [key: string]: string;
    } & {
        [key: string]: unknown;
    };
};

export type ReplayStatus = 'failed' | 'delivered';

export type Customer = {
    id: number;
    name: string;
    /**
     * Its id in the program that has created it.
     */
    external_id: string | null;
    metadata: {
        [key: string]: string;
    };
    /**
     * deleting: it is being deleted with everything that belongs to it.
     */
    status: 'active' | 'deleting';
    created_at: string;
};

export type WebhookTemplate = {
    id: number;
    title: string;
    /**
     * What its owner has noted about it.
     */
    description: string | null;
    /**
     * push: POSTs to the endpoint. pull: the feed has the events.
     */
    delivery: 'push' | 'pull';
    /**
     * null: the delivery is pull.
     */
    endpoint: string | null;
    /**
     * Of two events, that of new movements.
     */
    event: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION' | 'OPERATIONAL' | 'BALANCE_UPDATED';
    /**
     * All of its events: one or two.
     */
    events: Array<'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION' | 'OPERATIONAL' | 'BALANCE_UPDATED'>;
    status: 'active' | 'paused' | 'disabled';
    status_reason: string | null;
    /**
     * Shown only when the webhook is created or the secret is replaced. null: the answer to a repeated Idempotency-Key. A webhook with the delivery pull has none.
     */
    secret?: string | null;
    encoding: 'json' | 'form';
    /**
     * extended: the body has one more member, extended, with what the bank says.
     */
    body: 'standard' | 'extended';
    hash_encoding: 'hex' | 'raw';
    ordered: boolean;
    rate_limit: number | null;
    max_in_flight: number;
    /**
     * null: each event is a POST of its own.
     */
    batch: {
        max: number;
        wait_ms: number;
    } | null;
    /**
     * The names of the custom headers. Their values are not shown.
     */
    header_names: Array<string>;
    health: {
        /**
         * open: nothing is sent until open_until. half_open: a single POST checks whether the endpoint has recovered.
         */
        circuit: 'closed' | 'half_open' | 'open';
        open_until: string | null;
        consecutive_failures: number;
        failing_since: string | null;
        /**
         * What went wrong at the last attempt; null when it succeeded.
         */
        last_error: string | null;
    };
    deliveries: {
        pending: number;
        delivered: number;
        failed: number;
        /**
         * How many deliveries of replays have still to become pending. They count as delivered or failed until then. null: not counted yet.
         */
        to_come: number | null;
    };
    created_at: string;
    /**
     * What is wrong with it. Empty: nothing is.
     */
    standing: Array<{
        /**
         * failing: its last attempts failed. flapping: it has failed and recovered several times within an hour. behind: its endpoint answers, but a movement has been waiting for more than 5 minutes. unread: an event has been waiting in its feed for more than a day, and its reader has acknowledged nothing since. quarantined: the service has paused it, because its delivery runs kept crashing.
         */
        kind: 'failing' | 'flapping' | 'behind' | 'unread' | 'disabled' | 'quarantined';
        since: string | null;
        /**
         * The same in a sentence.
         */
        message: string;
        /**
         * failing, flapping: when something is sent again. null: nothing is pending.
         */
        next_attempt_at: string | null;
        /**
         * behind: what holds it. recovery: its endpoint is new or has just recovered, and is sent more and more. processes: it waits for its turn in a delivery process.
         */
        limit: 'rate_limit' | 'max_in_flight' | 'ordered' | 'retry' | 'recovering' | 'processes' | null;
        /**
         * behind: movements that came per minute in the last minutes. null: not measured yet.
         */
        in_per_minute: number | null;
        /**
         * behind: deliveries that ended per minute.
         */
        out_per_minute: number | null;
        /**
         * behind: when it has caught up at this pace. null: it does not, or it is not known.
         */
        caught_up_at: string | null;
    }>;
    /**
     * Which customers it matches.
     */
    customers: 'all' | {
        metadata: {
            [key: string]: string;
        };
    };
    /**
     * A movement is sent from the moment on that the webhook of its customer exists.
     */
    webhooks: {
        /**
         * Its webhooks: one for each customer that it matches.
         */
        active: number;
        /**
         * Those of customers that it does not match any more.
         */
        ended: number;
        /**
         * Customers that have still to be looked at, after it was created, or its events or customers were changed. 0: each customer has its webhook.
         */
        customers_left: number;
    };
    /**
     * A replay of all webhooks, and how many of them have still to be given theirs. null: none is under way.
     */
    replay: {
        webhooks_left: number;
    } | null;
};

export type NewWebhookTemplate = {
    title: string;
    description?: string | null;
    /**
     * push: POSTs to the endpoint. pull: GET /v1/webhooks/{id}/feed has the events. Cannot be changed.
     */
    delivery?: 'push' | 'pull';
    /**
     * Required, unless the delivery is pull.
     */
    endpoint?: string;
    /**
     * Its only event. Leave it out if you send events.
     */
    event?: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION' | 'OPERATIONAL' | 'BALANCE_UPDATED';
    /**
     * In place of event: a list of a single event, or of WITHDRAWN_TRANSACTION and one of NEW_TRANSACTION, NEW_DEBIT and NEW_CREDIT.
     */
    events?: Array<'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION' | 'OPERATIONAL' | 'BALANCE_UPDATED'>;
    encoding?: 'json' | 'form';
    body?: 'standard' | 'extended';
    hash_encoding?: 'hex' | 'raw';
    ordered?: boolean;
    rate_limit?: number | null;
    max_in_flight?: number;
    /**
     * Events are sent together: up to max of them in one POST. A batch that is not full waits for up to wait_ms milliseconds. null: each event is a POST of its own.
     */
    batch?: {
        max: number;
        wait_ms?: number;
    } | null;
    headers?: {
        [key: string]: string;
    } & {
        [key: string]: unknown;
    };
    /**
     * "all", or {"metadata": {…}}: the customers whose metadata has all of these members, with these values.
     */
    customers: 'all' | {
        metadata: {
            [key: string]: string;
        };
    };
};

export type WebhookTemplateChange = {
    title?: string;
    description?: string | null;
    /**
     * push: POSTs to the endpoint. pull: GET /v1/webhooks/{id}/feed has the events. Cannot be changed.
     */
    delivery?: 'push' | 'pull';
    /**
     * Required, unless the delivery is pull.
     */
    endpoint?: string;
    /**
     * Its only event. Leave it out if you send events.
     */
    event?: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION' | 'OPERATIONAL' | 'BALANCE_UPDATED';
    /**
     * In place of event: a list of a single event, or of WITHDRAWN_TRANSACTION and one of NEW_TRANSACTION, NEW_DEBIT and NEW_CREDIT.
     */
    events?: Array<'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION' | 'OPERATIONAL' | 'BALANCE_UPDATED'>;
    encoding?: 'json' | 'form';
    body?: 'standard' | 'extended';
    hash_encoding?: 'hex' | 'raw';
    ordered?: boolean;
    rate_limit?: number | null;
    max_in_flight?: number;
    /**
     * Events are sent together: up to max of them in one POST. A batch that is not full waits for up to wait_ms milliseconds. null: each event is a POST of its own.
     */
    batch?: {
        max: number;
        wait_ms?: number;
    } | null;
    headers?: {
        [key: string]: string;
    } & {
        [key: string]: unknown;
    };
    status?: 'active' | 'paused';
    /**
     * "all", or {"metadata": {…}}: the customers whose metadata has all of these members, with these values.
     */
    customers?: 'all' | {
        metadata: {
            [key: string]: string;
        };
    };
};

export type NewCustomer = {
    name: string;
    external_id?: string | null;
    metadata?: {
        [key: string]: string;
    };
    accounts?: Array<NewAccount>;
    webhooks?: Array<NewWebhook>;
    /**
     * The first API key, for all accounts. false: none. By default it has all scopes.
     */
    api_key?: boolean | {
        title?: string;
        scopes?: Array<'read' | 'import' | 'webhooks' | 'admin'>;
    };
};

export type CustomerChange = {
    name?: string;
    external_id?: string | null;
    metadata?: {
        [key: string]: string;
    };
};

export type Trouble = {
    kind: string;
    /**
     * installation: its own. endpoint: of a subscriber, a sender or a bank, and the service itself works.
     */
    scope: string;
    severity: string;
    count: number;
    subject: {
        type: 'webhook' | 'source' | 'import' | 'account';
        id: number;
        title: string;
        customer: string;
    } | null;
    since: string | null;
    pending: number | null;
    oldest: string | null;
    money: Array<{
        currency: string;
        amount: string;
    }>;
    sentence: string;
    help: string;
    /**
     * The path of the page of the console that shows it.
     */
    page: string;
};

export type Status = {
    status: 'well' | 'not well';
    /**
     * What is wrong with the installation itself, in one sentence for each.
     */
    problems: Array<string>;
    /**
     * The worst first.
     */
    troubles: Array<Trouble>;
    mysql: string;
    redis: string;
    migrations: 'ok' | 'not run' | 'unknown';
    /**
     * How many run, by role.
     */
    processes: {
        [key: string]: number;
    } | null;
    pending: number | null;
    held: number | null;
    pulled: number | null;
    replays_to_come: number | null;
    oldest_pending_at: string | null;
    circuits_open: number | null;
    imports: {
        [key: string]: number;
    } | null;
    deletions: Array<{
        customer_id: number;
        account_id: number | null;
        requested_at: string;
        movements: number | null;
        movements_deleted: number;
    }> | null;
};

export type BooksReport = {
    status: 'right' | 'wrong';
    deliveries: 'done' | 'pending';
    accounts: Array<{
        id: number;
        title: string;
        currency: string;
        completeness: 'complete' | 'incomplete' | 'contradictory' | 'unknown';
        /**
         * The gaps and contradictions of the account's statements.
         */
        periods: Array<{
            from: string;
            to: string;
            status: 'complete' | 'gap' | 'overlap' | 'contradiction';
            opening_balance: string;
            closing_balance: string;
            /**
             * gap: what was booked in it, which is what is missing between the two balances. contradiction: by how much the balances, or the stored movements, differ.
             */
            difference: string;
        }>;
        wrong_sums: Array<{
            from: string;
            to: string;
            statements: string;
            movements: string;
            difference: string;
        }>;
        missing: Array<{
            dc: 'Debit' | 'Credit';
            amount: string;
            /**
             * The import that took the entry for another movement.
             */
            import_id: number;
        }>;
        surplus: Array<{
            dc: 'Debit' | 'Credit';
            amount: string;
            /**
             * A movement that none of the statements has.
             */
            transaction_id: number;
        }>;
        open_conflicts: number;
    }>;
    /**
     * Webhooks with deliveries that are neither delivered nor failed.
     */
    pending: Array<{
        webhook_id: number;
        title: string;
        pending: number;
    }>;
};

export type OperatorToken = {
    id: number;
    /**
     * The first characters of the token.
     */
    prefix: string;
    title: string;
    role: 'viewer' | 'operator' | 'admin';
    /**
     * null: never.
     */
    expires_at: string | null;
    created_at: string;
    /**
     * When the token was last used, to the minute. null: never.
     */
    last_used_at: string | null;
};

export type NewOperatorToken = {
    title: string;
    /**
     * viewer: reads, and sees no secret. operator: also changes things. admin: also manages operators' tokens.
     */
    role: 'viewer' | 'operator' | 'admin';
    expires_at?: string | null;
};

/**
 * The size of a page.
 */
export type QueryPerPageListWebhooks = number;

/**
 * For which customer: its id, or external_id: and its external id, percent-encoded.
 */
export type HeaderLedgerbellCustomer = string;

/**
 * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
 */
export type HeaderIdempotencyKey = string;

/**
 * The size of a page.
 */
export type QueryPerPageListReplays = number;

/**
 * The id of the customer.
 */
export type PathIdGetCustomer = number;

/**
 * The id of the webhook template.
 */
export type PathIdGetWebhookTemplate = number;

export type ListCustomersData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Only customers with this name.
         */
        name?: string;
        /**
         * Only the customer with this external id.
         */
        external_id?: string;
        /**
         * Only the customer to whom this belongs, such as webhook:12. For a delivery, give the id of its webhook.
         */
        owner_of?: string;
        /**
         * The size of a page.
         */
        per_page?: number;
        /**
         * Where the page begins: the cursor in the header Link of the previous page.
         */
        cursor?: string;
    };
    url: '/v1/customers';
};

export type ListCustomersErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListCustomersError = ListCustomersErrors[keyof ListCustomersErrors];

export type ListCustomersResponses = {
    /**
     * A page of customers.
     */
    200: {
        customers: Array<Customer>;
    };
};

export type ListCustomersResponse = ListCustomersResponses[keyof ListCustomersResponses];

export type CreateCustomerData = {
    body: NewCustomer;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/customers';
};

export type CreateCustomerErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Customer is being deleted; Request in progress; Idempotency key reused; Too many webhooks; Too many accounts
     */
    409: Problem;
    /**
     * Invalid request; Endpoint refused
     */
    422: ProblemWithErrors;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type CreateCustomerError = CreateCustomerErrors[keyof CreateCustomerErrors];

export type CreateCustomerResponses = {
    /**
     * The customer, with secrets only if it was created.
     */
    200: {
        customer: Customer;
        /**
         * false: it existed, and nothing was changed.
         */
        created: boolean;
        accounts: Array<Account>;
        webhooks: Array<Webhook>;
        /**
         * Shown only in this answer. null: this is the answer to a repeated Idempotency-Key.
         */
        api_key?: string | null;
        /**
         * Shown only in this answer. null: this is the answer to a repeated Idempotency-Key.
         */
        api_secret?: string | null;
    };
};

export type CreateCustomerResponse = CreateCustomerResponses[keyof CreateCustomerResponses];

export type DeleteCustomerData = {
    body?: never;
    path: {
        /**
         * The id of the customer.
         */
        id: number;
    };
    query?: {
        /**
         * The name of the customer, so that no other is deleted by mistake.
         */
        confirm?: string;
    };
    url: '/v1/customers/{id}';
};

export type DeleteCustomerErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Unknown customer; Not found
     */
    404: Problem;
    /**
     * Customer is being deleted; Operator's customer
     */
    409: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type DeleteCustomerError = DeleteCustomerErrors[keyof DeleteCustomerErrors];

export type DeleteCustomerResponses = {
    /**
     * The customer, which is being deleted.
     */
    202: {
        customer: Customer;
    };
};

export type DeleteCustomerResponse = DeleteCustomerResponses[keyof DeleteCustomerResponses];

export type GetCustomerData = {
    body?: never;
    path: {
        /**
         * The id of the customer.
         */
        id: number;
    };
    query?: never;
    url: '/v1/customers/{id}';
};

export type GetCustomerErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Unknown customer; Not found
     */
    404: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetCustomerError = GetCustomerErrors[keyof GetCustomerErrors];

export type GetCustomerResponses = {
    /**
     * The customer.
     */
    200: {
        customer: {
            id: number;
            name: string;
            /**
             * Its id in the program that has created it.
             */
            external_id: string | null;
            metadata: {
                [key: string]: string;
            };
            /**
             * deleting: it is being deleted with everything that belongs to it.
             */
            status: 'active' | 'deleting';
            created_at: string;
            counts: {
                accounts: number;
                webhooks: number;
                api_keys: number;
                sources: number;
            };
            /**
             * What is wrong with what belongs to it, the worst first, at most 100. Empty: nothing is.
             */
            standing: Array<Trouble>;
        };
    };
};

export type GetCustomerResponse = GetCustomerResponses[keyof GetCustomerResponses];

export type UpdateCustomerData = {
    body: CustomerChange;
    path: {
        /**
         * The id of the customer.
         */
        id: number;
    };
    query?: never;
    url: '/v1/customers/{id}';
};

export type UpdateCustomerErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Unknown customer; Not found
     */
    404: Problem;
    /**
     * Customer is being deleted; External id taken
     */
    409: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type UpdateCustomerError = UpdateCustomerErrors[keyof UpdateCustomerErrors];

export type UpdateCustomerResponses = {
    /**
     * The customer.
     */
    200: {
        customer: Customer;
    };
};

export type UpdateCustomerResponse = UpdateCustomerResponses[keyof UpdateCustomerResponses];

export type ListWebhookTemplatesData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * The size of a page.
         */
        per_page?: number;
        /**
         * Where the page begins: the cursor in the header Link of the previous page.
         */
        cursor?: string;
    };
    url: '/v1/webhook-templates';
};

export type ListWebhookTemplatesErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListWebhookTemplatesError = ListWebhookTemplatesErrors[keyof ListWebhookTemplatesErrors];

export type ListWebhookTemplatesResponses = {
    /**
     * A page of templates.
     */
    200: {
        webhook_templates: Array<WebhookTemplate>;
    };
};

export type ListWebhookTemplatesResponse = ListWebhookTemplatesResponses[keyof ListWebhookTemplatesResponses];

export type CreateWebhookTemplateData = {
    body: NewWebhookTemplate;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/webhook-templates';
};

export type CreateWebhookTemplateErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Customer is being deleted; Request in progress; Idempotency key reused; Too many webhook templates
     */
    409: Problem;
    /**
     * Invalid request; Endpoint refused
     */
    422: ProblemWithErrors;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type CreateWebhookTemplateError = CreateWebhookTemplateErrors[keyof CreateWebhookTemplateErrors];

export type CreateWebhookTemplateResponses = {
    /**
     * The template, with its secret, unless the delivery is pull.
     */
    200: {
        webhook_template: WebhookTemplate;
    };
};

export type CreateWebhookTemplateResponse = CreateWebhookTemplateResponses[keyof CreateWebhookTemplateResponses];

export type DeleteWebhookTemplateData = {
    body?: never;
    path: {
        /**
         * The id of the webhook template.
         */
        id: number;
    };
    query?: never;
    url: '/v1/webhook-templates/{id}';
};

export type DeleteWebhookTemplateErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Unknown customer; Not found
     */
    404: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type DeleteWebhookTemplateError = DeleteWebhookTemplateErrors[keyof DeleteWebhookTemplateErrors];

export type DeleteWebhookTemplateResponses = {
    /**
     * The template is deleted.
     */
    200: {
        status: 'success';
    };
};

export type DeleteWebhookTemplateResponse = DeleteWebhookTemplateResponses[keyof DeleteWebhookTemplateResponses];

export type GetWebhookTemplateData = {
    body?: never;
    path: {
        /**
         * The id of the webhook template.
         */
        id: number;
    };
    query?: never;
    url: '/v1/webhook-templates/{id}';
};

export type GetWebhookTemplateErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Unknown customer; Not found
     */
    404: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetWebhookTemplateError = GetWebhookTemplateErrors[keyof GetWebhookTemplateErrors];

export type GetWebhookTemplateResponses = {
    /**
     * The template, without its secret.
     */
    200: {
        webhook_template: WebhookTemplate;
    };
};

export type GetWebhookTemplateResponse = GetWebhookTemplateResponses[keyof GetWebhookTemplateResponses];

export type UpdateWebhookTemplateData = {
    body: WebhookTemplateChange;
    path: {
        /**
         * The id of the webhook template.
         */
        id: number;
    };
    query?: never;
    url: '/v1/webhook-templates/{id}';
};

export type UpdateWebhookTemplateErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Unknown customer; Not found
     */
    404: Problem;
    /**
     * Invalid request; Endpoint refused
     */
    422: ProblemWithErrors;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type UpdateWebhookTemplateError = UpdateWebhookTemplateErrors[keyof UpdateWebhookTemplateErrors];

export type UpdateWebhookTemplateResponses = {
    /**
     * The template, without its secret.
     */
    200: {
        webhook_template: WebhookTemplate;
    };
};

export type UpdateWebhookTemplateResponse = UpdateWebhookTemplateResponses[keyof UpdateWebhookTemplateResponses];

export type RotateWebhookTemplateSecretData = {
    body?: never;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the webhook template.
         */
        id: number;
    };
    query?: never;
    url: '/v1/webhook-templates/{id}/rotate-secret';
};

export type RotateWebhookTemplateSecretErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Unknown customer; Not found
     */
    404: Problem;
    /**
     * Customer is being deleted; Request in progress; Idempotency key reused; Events are pulled
     */
    409: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type RotateWebhookTemplateSecretError = RotateWebhookTemplateSecretErrors[keyof RotateWebhookTemplateSecretErrors];

export type RotateWebhookTemplateSecretResponses = {
    /**
     * The template, with its new secret, which is shown in this answer only.
     */
    200: {
        webhook_template: WebhookTemplate;
    };
};

export type RotateWebhookTemplateSecretResponse = RotateWebhookTemplateSecretResponses[keyof RotateWebhookTemplateSecretResponses];

export type ReplayWebhookTemplateData = {
    body: {
        since: string;
        until?: string;
        /**
         * Default: failed.
         */
        status?: ReplayStatus | Array<ReplayStatus>;
    };
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the webhook template.
         */
        id: number;
    };
    query?: never;
    url: '/v1/webhook-templates/{id}/replay';
};

export type ReplayWebhookTemplateErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Unknown customer; Not found
     */
    404: Problem;
    /**
     * Customer is being deleted; Request in progress; Idempotency key reused; Replay under way
     */
    409: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ReplayWebhookTemplateError = ReplayWebhookTemplateErrors[keyof ReplayWebhookTemplateErrors];

export type ReplayWebhookTemplateResponses = {
    /**
     * The template, with the accepted replay.
     */
    202: {
        webhook_template: WebhookTemplate;
    };
};

export type ReplayWebhookTemplateResponse = ReplayWebhookTemplateResponses[keyof ReplayWebhookTemplateResponses];

export type ListWebhooksOfTemplateData = {
    body?: never;
    path: {
        /**
         * The id of the webhook template.
         */
        id: number;
    };
    query?: {
        /**
         * Only webhooks with deliveries of this status.
         */
        having?: 'pending' | 'failed';
        /**
         * The size of a page.
         */
        per_page?: number;
        /**
         * Where the page begins: the cursor in the header Link of the previous page.
         */
        cursor?: string;
    };
    url: '/v1/webhook-templates/{id}/webhooks';
};

export type ListWebhooksOfTemplateErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Unknown customer; Not found
     */
    404: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListWebhooksOfTemplateError = ListWebhooksOfTemplateErrors[keyof ListWebhooksOfTemplateErrors];

export type ListWebhooksOfTemplateResponses = {
    /**
     * A page of webhooks.
     */
    200: {
        webhooks: Array<{
            id: number;
            customer: {
                id: number;
                name: string;
                external_id: string | null;
            };
            /**
             * That of its template, unless it is paused by the service, or ended: its customer is not matched any more, and what is pending is still sent.
             */
            status: 'active' | 'paused' | 'disabled' | 'ended';
            status_reason: string | null;
            deliveries: {
                pending: number;
                delivered: number;
                failed: number;
            };
        }>;
    };
};

export type ListWebhooksOfTemplateResponse = ListWebhooksOfTemplateResponses[keyof ListWebhooksOfTemplateResponses];

export type ListOperatorTokensData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * The size of a page.
         */
        per_page?: number;
        /**
         * Where the page begins: the cursor in the header Link of the previous page.
         */
        cursor?: string;
    };
    url: '/v1/operator-tokens';
};

export type ListOperatorTokensErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListOperatorTokensError = ListOperatorTokensErrors[keyof ListOperatorTokensErrors];

export type ListOperatorTokensResponses = {
    /**
     * A page of tokens.
     */
    200: {
        operator_tokens: Array<OperatorToken>;
    };
};

export type ListOperatorTokensResponse = ListOperatorTokensResponses[keyof ListOperatorTokensResponses];

export type CreateOperatorTokenData = {
    body: NewOperatorToken;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/operator-tokens';
};

export type CreateOperatorTokenErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Customer is being deleted; Request in progress; Idempotency key reused; Limit of operators' tokens reached
     */
    409: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type CreateOperatorTokenError = CreateOperatorTokenErrors[keyof CreateOperatorTokenErrors];

export type CreateOperatorTokenResponses = {
    /**
     * The token.
     */
    200: {
        operator_token: {
            id: number;
            /**
             * Shown only in this answer. null: this is the answer to a repeated Idempotency-Key.
             */
            token: string | null;
        };
    };
};

export type CreateOperatorTokenResponse = CreateOperatorTokenResponses[keyof CreateOperatorTokenResponses];

export type DeleteOperatorTokenData = {
    body?: never;
    path: {
        /**
         * The id of the token.
         */
        id: number;
    };
    query?: never;
    url: '/v1/operator-tokens/{id}';
};

export type DeleteOperatorTokenErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Unknown customer; Not found
     */
    404: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type DeleteOperatorTokenError = DeleteOperatorTokenErrors[keyof DeleteOperatorTokenErrors];

export type DeleteOperatorTokenResponses = {
    /**
     * The token is deleted.
     */
    200: {
        status: 'success';
    };
};

export type DeleteOperatorTokenResponse = DeleteOperatorTokenResponses[keyof DeleteOperatorTokenResponses];

export type GetVerdictData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/v1/verdict';
};

export type GetVerdictErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetVerdictError = GetVerdictErrors[keyof GetVerdictErrors];

export type GetVerdictResponses = {
    /**
     * The state of the installation.
     */
    200: Status;
};

export type GetVerdictResponse = GetVerdictResponses[keyof GetVerdictResponses];

export type ListChangesData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Only changes of this, such as "webhook 12".
         */
        subject?: string;
        /**
         * Only changes made there.
         */
        source?: 'api' | 'operator token' | 'console' | 'command line' | 'configuration';
        /**
         * The size of a page.
         */
        per_page?: number;
        /**
         * Where the page begins: the cursor in the header Link of the previous page.
         */
        cursor?: string;
    };
    url: '/v1/audit';
};

export type ListChangesErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListChangesError = ListChangesErrors[keyof ListChangesErrors];

export type ListChangesResponses = {
    /**
     * A page of changes.
     */
    200: {
        changes: Array<{
            id: number;
            at: string;
            customer_id: number | null;
            source: 'api' | 'operator token' | 'console' | 'command line' | 'configuration';
            actor: string;
            action: string;
            subject: string;
            detail: string;
        }>;
    };
};

export type ListChangesResponse = ListChangesResponses[keyof ListChangesResponses];

export type VerifyBooksData = {
    body?: never;
    headers: {
        /**
         * For which customer: its id, or external_id: and its external id, percent-encoded.
         */
        'Ledgerbell-Customer': string;
    };
    path?: never;
    query?: {
        /**
         * Only this account.
         */
        account?: number | string;
        /**
         * Only statements that end on this day or later.
         */
        from?: string;
        /**
         * Only statements that begin on this day or earlier.
         */
        to?: string;
        /**
         * The size of a page.
         */
        per_page?: number;
        /**
         * Where the page begins: the cursor in the header Link of the previous page.
         */
        cursor?: string;
    };
    url: '/v1/verify';
};

export type VerifyBooksErrors = {
    /**
     * Missing role
     */
    403: MissingRoleProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type VerifyBooksError = VerifyBooksErrors[keyof VerifyBooksErrors];

export type VerifyBooksResponses = {
    /**
     * What was found.
     */
    200: BooksReport;
};

export type VerifyBooksResponse = VerifyBooksResponses[keyof VerifyBooksResponses];
