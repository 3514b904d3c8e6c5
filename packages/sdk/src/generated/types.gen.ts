// @ts-nocheck
// Made by openapi-ts: npm run sdk

export type ClientOptions = {
    baseUrl: `${string}://${string}` | (string & {});
};

export type Webhooks = ReceiveMovementWebhookRequest | ReceiveOperationalEventWebhookRequest | ReceiveBalanceWebhookRequest;

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

export type MalformedMultipartProblem = Problem & {
    type?: '/problems/malformed-multipart';
    status?: 400;
};

export type MissingApiKeyProblem = Problem & {
    type?: '/problems/missing-api-key';
    status?: 401;
};

export type UnknownApiKeyProblem = Problem & {
    type?: '/problems/unknown-api-key';
    status?: 401;
};

export type MissingScopeProblem = Problem & {
    type?: '/problems/missing-scope';
    status?: 403;
};

export type LimitedApiKeyProblem = Problem & {
    type?: '/problems/limited-api-key';
    status?: 403;
};

export type PendingForOtherAccountsProblem = Problem & {
    type?: '/problems/pending-for-other-accounts';
    status?: 403;
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

export type UnreadableFileProblem = ProblemWithErrors & {
    type?: '/problems/unreadable-file';
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

export type UnfinishedImportProblem = Problem & {
    type?: '/problems/unfinished-import';
    status?: 409;
};

export type ImportNotFailedProblem = Problem & {
    type?: '/problems/import-not-failed';
    status?: 409;
};

export type ImportNotRetryableProblem = Problem & {
    type?: '/problems/import-not-retryable';
    status?: 409;
};

export type ConflictDecidedProblem = Problem & {
    type?: '/problems/conflict-decided';
    status?: 409;
};

export type WebhookDisabledProblem = Problem & {
    type?: '/problems/webhook-disabled';
    status?: 409;
};

export type WebhookOfTemplateProblem = Problem & {
    type?: '/problems/webhook-of-template';
    status?: 409;
};

export type WebhookDeletedProblem = Problem & {
    type?: '/problems/webhook-deleted';
    status?: 409;
};

export type NotAFeedProblem = Problem & {
    type?: '/problems/not-a-feed';
    status?: 409;
};

export type PulledWebhookProblem = Problem & {
    type?: '/problems/pulled-webhook';
    status?: 409;
};

export type CursorGoneProblem = Problem & {
    type?: '/problems/cursor-gone';
    status?: 410;
};

export type ReplayDoneProblem = Problem & {
    type?: '/problems/replay-done';
    status?: 409;
};

export type WebhookLimitReachedProblem = Problem & {
    type?: '/problems/webhook-limit-reached';
    status?: 409;
};

export type ApiKeyLimitReachedProblem = Problem & {
    type?: '/problems/api-key-limit-reached';
    status?: 409;
};

export type RemovedTimeProblem = Problem & {
    type?: '/problems/removed-time';
    status?: 409;
};

export type SourceLimitReachedProblem = Problem & {
    type?: '/problems/source-limit-reached';
    status?: 409;
};

export type NotCollectableAgainProblem = Problem & {
    type?: '/problems/not-collectable-again';
    status?: 409;
};

export type AccountLimitReachedProblem = Problem & {
    type?: '/problems/account-limit-reached';
    status?: 409;
};

export type MovementWithdrawnProblem = Problem & {
    type?: '/problems/movement-withdrawn';
    status?: 409;
};

export type AccountDeletingProblem = Problem & {
    type?: '/problems/account-deleting';
    status?: 409;
};

export type RateLimitedProblem = Problem & {
    type?: '/problems/rate-limited';
    status?: 429;
};

export type TooManyUnknownKeysProblem = Problem & {
    type?: '/problems/too-many-unknown-keys';
    status?: 429;
};

export type TooManyReadersProblem = Problem & {
    type?: '/problems/too-many-readers';
    status?: 429;
};

export type TooManyTestsProblem = Problem & {
    type?: '/problems/too-many-tests';
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

export type UploadInterruptedProblem = Problem & {
    type?: '/problems/upload-interrupted';
    status?: 503;
};

export type BusyProblem = Problem & {
    type?: '/problems/busy';
    status?: 503;
};

export type OverloadedProblem = Problem & {
    type?: '/problems/overloaded';
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

export type AccountChange = {
    /**
     * The name of its bank. A new name is added to your banks.
     */
    bank?: string;
    title?: string;
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

/**
 * Only with fields=extended.
 */
export type Extended = {
    /**
     * ISO 4217. The currency of the account, if the bank does not say.
     */
    currency: string;
    /**
     * From when the money counts for interest. null: the bank does not say.
     */
    value_date: string | null;
    /**
     * The payer's reference for the payment. null: the bank does not say.
     */
    end_to_end_id: string | null;
    /**
     * With correct check digits: ISO 11649 (RF…), 27 digits of a QR-bill, or Belgian +++123/4567/89002+++. null: the bank does not say.
     */
    creditor_reference: string | null;
    /**
     * Of a direct debit. null: the bank does not say.
     */
    mandate_reference: string | null;
    /**
     * The kind of transaction, such as PMNT-RCDT-ESCT. null: the bank does not say.
     */
    bank_transaction_code: string | null;
    /**
     * The statement that has brought the movement. null: the bank does not say.
     */
    statement_id: number | null;
    /**
     * Its line in the file of the statement. null: the bank does not say.
     */
    line: number | null;
    /**
     * The movement that this one takes back, if exactly one matches and it is still stored. null: the bank does not say.
     */
    reverses: number | null;
    /**
     * The amount in the currency in which the payment was made. null: the bank does not say.
     */
    original_amount: string | null;
    /**
     * ISO 4217. null: the bank does not say.
     */
    original_currency: string | null;
    /**
     * As the bank has it, with a decimal point. null: the bank does not say.
     */
    exchange_rate: string | null;
    /**
     * Of a batch whose details came after it was stored: the payments that it consists of, at most 1,000 and 256 KiB. A movement without such details has no such member.
     */
    details?: Array<{
        dc: 'Debit' | 'Credit';
        amount: string;
        /**
         * The counterparty. null: the bank does not say.
         */
        name: string | null;
        /**
         * What the payment is for. null: the bank does not say.
         */
        description: string | null;
        /**
         * The account of the counterparty. null: the bank does not say.
         */
        opponent_iban: string | null;
        /**
         * The payer's reference for the payment. null: the bank does not say.
         */
        end_to_end_id: string | null;
        /**
         * With correct check digits. null: the bank does not say.
         */
        creditor_reference: string | null;
    }>;
    /**
     * The batch has more details than are shown here. Otherwise there is no such member.
     */
    details_more?: boolean;
};

export type Transaction = {
    id: number;
    account_id: number;
    name: string | null;
    dc: 'Debit' | 'Credit';
    code: string;
    amount: string;
    balance: string | '';
    description: string;
    date_issue: string;
    date_readed: string;
    opponent_id: string;
    opponent_iban: string;
    unique_id: string;
    account: {
        id: number;
        title: string;
        /**
         * ISO 4217.
         */
        currency: string;
        bank_id: number;
        bank: Bank;
    };
    /**
     * Only of a withdrawn movement.
     */
    withdrawn_at?: string;
    /**
     * Why it was withdrawn. Only of a withdrawn movement.
     */
    withdrawn_reason?: string;
    extended?: Extended;
};

export type NewTransaction = {
    account_id: number | string;
    dc: 'Debit' | 'Credit';
    code?: string | null;
    amount: string;
    balance?: string | null;
    description?: string | null;
    date_issue: string;
    opponent_id?: string | null;
    opponent_iban?: string | null;
    unique_id?: string | null;
    name?: string | null;
};

export type NewImport = {
    transactions: Array<NewTransaction>;
};

export type Balance = {
    /**
     * The day at whose end the account had this balance.
     */
    date: string;
    balance: string;
    currency: string;
    /**
     * statement: the closing balance of a statement; a final one is preferred to an interim one. movement: the balance after the last movement of the day.
     */
    source: 'statement' | 'movement';
    statement_id: number | null;
    transaction_id: number | null;
    import_id: number;
};

export type Statement = {
    id: number;
    /**
     * How the bank calls it; null: the file does not say.
     */
    number: string | null;
    /**
     * The page of a statement that comes in several.
     */
    sequence: string | null;
    /**
     * As the file says, or else the day of the first entry.
     */
    from: string | null;
    /**
     * As the file says, or else the day of the closing balance or the last entry.
     */
    to: string | null;
    opening_balance: string | null;
    closing_balance: string | null;
    /**
     * Of the opening balance; null: the file does not say.
     */
    opening_balance_date: string | null;
    /**
     * Of the closing balance; null: the file does not say.
     */
    closing_balance_date: string | null;
    currency: string;
    /**
     * By how much its entries miss its closing balance; null: not at all.
     */
    difference: string | null;
    entries: number;
    /**
     * interim: a report of a day so far.
     */
    kind: 'final' | 'interim';
    import_id: number;
    line: number;
    received_at: string;
};

export type Completeness = {
    /**
     * unknown: there is no final statement with an opening and a closing balance.
     */
    status: 'complete' | 'incomplete' | 'contradictory' | 'unknown';
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
        /**
         * Entries of the statements that are not stored. Send a file with them again.
         */
        missing: Array<{
            dc: 'Debit' | 'Credit';
            amount: string;
            /**
             * The import that took the entry for another movement.
             */
            import_id: number;
        }>;
        /**
         * Stored movements that the statements do not have.
         */
        surplus: Array<{
            dc: 'Debit' | 'Credit';
            amount: string;
            /**
             * A movement that none of the statements has.
             */
            transaction_id: number;
        }>;
    }>;
    /**
     * When the next statement is late, as late_after_days of the account says, or as the statements that have come tell; null: too few have come.
     */
    late_at: string | null;
};

export type Conflict = {
    id: number;
    account_id: number;
    unique_id: string;
    /**
     * open: nobody has decided yet. stored: the received version is a movement too.
     */
    status: 'open' | 'stored' | 'ignored';
    /**
     * The movement that was stored first.
     */
    stored: {
        id: number;
        name: string | null;
        dc: 'Debit' | 'Credit';
        code: string;
        amount: string;
        balance: string;
        description: string;
        date_issue: string;
        opponent_id: string;
        opponent_iban: string;
        unique_id: string;
    };
    /**
     * The row that came later, under the same unique_id.
     */
    received: {
        name: string | null;
        dc: 'Debit' | 'Credit';
        code: string;
        amount: string;
        balance: string;
        description: string;
        date_issue: string;
        opponent_id: string;
        opponent_iban: string;
        unique_id: string;
    };
    /**
     * The movement that was stored from the received row; null: the row was not stored.
     */
    transaction_id: number | null;
    import_id: number;
    line: number;
    received_at: string;
    decided_at: string | null;
};

export type ImportIssue = {
    line: number;
    path: string;
    message: string;
};

export type ImportWarning = {
    line: number;
    message: string;
};

export type Import = {
    id: number;
    /**
     * The source that has collected it; null: it was sent with an API key.
     */
    source_id: number | null;
    status: 'queued' | 'running' | 'done' | 'failed';
    /**
     * What was sent. auto: the content of a statement file decides, and detected_format says how.
     */
    format: string;
    /**
     * The format of the first statement in a statement file. null: no statement was read yet, or the import is JSON or NDJSON.
     */
    detected_format: string | null;
    received: number | null;
    inserted: number;
    duplicates: number;
    /**
     * Of the duplicates, those with another text or balance than what is stored.
     */
    changed: number;
    /**
     * Of the duplicates, those without an id. They equal a stored movement, but nothing proves that they are the same.
     */
    assumed_duplicates: number;
    /**
     * Inserted rows that may be a stored movement, because nothing proves the opposite.
     */
    assumed_new: number;
    /**
     * Rows with the unique_id of a stored movement and another direction, amount or date. They are no duplicates: GET /v1/conflicts lists them.
     */
    conflicts: number;
    rejected: number;
    deliveries: number;
    statements: number;
    warnings: number;
    /**
     * The first 3 warnings, by line. GET /v1/imports/{id}/errors lists more of them.
     */
    first_warnings: Array<ImportWarning>;
    /**
     * The stored statements that statements of the file contradict: the same number or days, the same opening balance, and other entries. A warning says of each by how much.
     */
    contradicts: Array<number>;
    received_at: string;
    started_at: string | null;
    finished_at: string | null;
    error: string | null;
};

export type DryRun = {
    dry_run: {
        /**
         * How an import of this file would end.
         */
        status: 'done' | 'failed';
        /**
         * Why the rest of the file cannot be read.
         */
        error: string | null;
        format: string;
        /**
         * All rows.
         */
        received: number;
        /**
         * Rows that would be stored.
         */
        inserted: number;
        /**
         * Rows that are known already.
         */
        duplicates: number;
        /**
         * Duplicates with another text or balance than what is stored.
         */
        changed: number;
        /**
         * Duplicates without an id. They equal a stored movement, but nothing proves that they are the same.
         */
        assumed_duplicates: number;
        /**
         * Rows with the unique_id of a stored movement and another direction, amount or date.
         */
        conflicts: number;
        /**
         * Rows that would be stored although they may be known, because nothing proves the opposite.
         */
        assumed_new: number;
        rejected: number;
        statements: number;
        warnings: number;
    };
    /**
     * The first 1,000 rows that are not rejected.
     */
    transactions: Array<{
        line: number;
        /**
         * true: stored already, or earlier in the file.
         */
        known: boolean;
        /**
         * Why it counts as known. assumed_new: it would be stored, and may be known. null: it is new.
         */
        reason: 'same' | 'changed' | 'assumed' | 'conflict' | 'assumed_new' | null;
        /**
         * The stored movement that the row was taken for. null: the row is new or was taken for an earlier row of the file, or the API key lacks the scope read.
         */
        stored: {
            id: number;
            name: string | null;
            dc: 'Debit' | 'Credit';
            code: string;
            amount: string;
            balance: string;
            description: string;
            date_issue: string;
            opponent_id: string;
            opponent_iban: string;
            unique_id: string;
        } | null;
        /**
         * null: an import would create the account.
         */
        account_id: number | null;
        /**
         * The IBAN of the account, or else its number, or else its title.
         */
        account: string | null;
        name: string | null;
        dc: 'Debit' | 'Credit';
        code: string;
        amount: string;
        balance: string;
        description: string;
        date_issue: string;
        opponent_id: string;
        opponent_iban: string;
        unique_id: string;
    }>;
    /**
     * The first 1,000 reasons why rows are rejected.
     */
    errors: Array<ImportIssue>;
    /**
     * The first 1,000 warnings.
     */
    warnings: Array<ImportWarning>;
    /**
     * The first 1,000 statements.
     */
    statements: Array<{
        line: number;
        /**
         * The name of the file within a zip.
         */
        file: string | null;
        format: string;
        /**
         * null: an import would create the account, or there is no account and problem says why.
         */
        account_id: number | null;
        /**
         * The account as the statement names it.
         */
        account: string | null;
        /**
         * Why there is no account for it. Its rows are rejected.
         */
        problem: string | null;
        currency: string | null;
        opening: string | null;
        credits: string | null;
        debits: string | null;
        closing: string | null;
        /**
         * closing minus the balance that opening, credits and debits give. null: a balance is missing.
         */
        difference: string | null;
    }>;
    /**
     * The accounts of the listed rows and statements.
     */
    accounts: Array<{
        /**
         * null: an import would create the account.
         */
        id: number | null;
        bank: string;
        title: string;
        currency: string;
        iban: string | null;
        number: string | null;
    }>;
};

export type Withdrawal = {
    id: number;
    import_id: number;
    /**
     * null: the whole import is withdrawn.
     */
    statement_id: number | null;
    /**
     * failed: it has ended with an error ten times in a row. Send the request again to go on.
     */
    status: 'queued' | 'running' | 'done' | 'failed';
    /**
     * The movements of the import or statement that were looked at: withdrawn and kept.
     */
    matched: number;
    withdrawn: number;
    /**
     * They stay, because another statement or another import has them too.
     */
    kept: number;
    reason: string;
    created_at: string;
    finished_at: string | null;
};

export type WithdrawalPlan = {
    withdrawal: {
        import_id: number;
        statement_id: number | null;
        matched: number;
        withdrawn: number;
        kept: number;
        /**
         * false: only the first 100000 movements were counted. All are withdrawn.
         */
        is_whole: boolean;
        /**
         * The statements that would not count any more.
         */
        statements: number;
        /**
         * A later import with more duplicates than are listed. It may have confirmed any of the movements, so all are kept.
         */
        unlisted_import_id: number | null;
        /**
         * Of the accounts of the statements, at most ten.
         */
        completeness: Array<{
            account_id: number;
            before: 'complete' | 'incomplete' | 'contradictory' | 'unknown';
            after: 'complete' | 'incomplete' | 'contradictory' | 'unknown';
        }>;
    };
    transactions: Array<{
        id: number;
        account_id: number;
        name: string | null;
        dc: 'Debit' | 'Credit';
        code: string;
        amount: string;
        balance: string | '';
        description: string;
        date_issue: string;
        date_readed: string;
        opponent_id: string;
        opponent_iban: string;
        unique_id: string;
        account: {
            id: number;
            title: string;
            /**
             * ISO 4217.
             */
            currency: string;
            bank_id: number;
            bank: Bank;
        };
        /**
         * Only of a withdrawn movement.
         */
        withdrawn_at?: string;
        /**
         * Why it was withdrawn. Only of a withdrawn movement.
         */
        withdrawn_reason?: string;
        extended?: Extended;
        outcome: 'withdrawn' | 'kept';
    }>;
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

export type WebhookChange = {
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
    account?: 'all' | number | string;
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
};

export type TestNotification = {
    /**
     * The status that the endpoint answered with. null, beside an error of null: the feed has the sample.
     */
    status_code: number | null;
    /**
     * null: the answer is complete. "no answer": no connection, no TLS session, or no status within 15 seconds.
     */
    error: 'address not allowed' | 'no answer' | 'incomplete answer' | null;
};

export type Attempt = {
    number: number;
    outcome: 'delivered' | 'failed' | 'throttled' | 'gone' | 'refused';
    status_code: number | null;
    started_at: string;
    duration_ms: number;
    /**
     * How often the attempt sent its POST. 2: once more on a new connection, because the first was closed just as it was used, or because its answer could not be read. 0: there was no connection.
     */
    posts: number;
    error: string | null;
    response: string | null;
    /**
     * The webhook-id of the batch that the event was sent in. response is then the answer to the batch. null: the event was sent alone.
     */
    batch: string | null;
};

export type RejectedBatch = {
    /**
     * The webhook-id of the batch.
     */
    batch: string;
    /**
     * How many events the batch had.
     */
    events: number;
    status_code: number;
    started_at: string;
    duration_ms: number;
    response: string | null;
};

export type Delivery = {
    /**
     * <webhook_id>-<transaction_id>, or <webhook_id>-<event_id>
     */
    id: string;
    webhook_id: number;
    /**
     * null: the delivery of an event, to a webhook with the event OPERATIONAL or BALANCE_UPDATED.
     */
    transaction_id: number | null;
    /**
     * The id of the event, also of the withdrawal of the movement. null: the delivery of a new movement.
     */
    event_id: number | null;
    /**
     * cancelled: the webhook was deleted before the movement was delivered.
     */
    status: 'pending' | 'delivered' | 'failed' | 'cancelled';
    attempts: number;
    due_at: string | null;
    created_at: string;
    finished_at: string | null;
    last_error: string | null;
};

export type ReplayStatus = 'failed' | 'delivered';

export type Replay = {
    /**
     * null: a dry run.
     */
    id: number | null;
    webhook_id: number;
    status: Array<ReplayStatus>;
    /**
     * How many deliveries match now. null: more than a thousand, or, in a dry run, more than a hundred thousand.
     */
    matched: number | null;
    /**
     * null: a dry run.
     */
    created_at: string | null;
};

export type ReplayProgress = {
    id: number;
    webhook_id: number;
    /**
     * running: also while it waits, for example because the webhook is paused.
     */
    state: 'running' | 'done' | 'cancelled';
    status: Array<ReplayStatus>;
    /**
     * How many deliveries it sends in all: sent and left. null: not counted yet.
     */
    total: number | null;
    /**
     * How many were delivered, or have failed for good.
     */
    sent: number;
    /**
     * How many are still to be sent; of a cancelled replay, how many were not sent. null: not counted yet.
     */
    left: number | null;
    /**
     * How many were sent per second since it began. null: it is not running.
     */
    per_second: number | null;
    created_at: string;
};

export type Source = {
    id: number;
    title: string;
    kind: 'folder' | 'sftp' | 'http' | 's3';
    /**
     * Where the files are.
     */
    settings: {
        [key: string]: unknown;
    };
    /**
     * The names of the credentials. Their values are not shown.
     */
    credentials: Array<string>;
    /**
     * When the source is due: at equal intervals, or by cron in a time zone.
     */
    schedule: {
        every: string;
    } | {
        cron: string;
        time_zone: string;
    };
    /**
     * The account that all files are about; null: the statements say which.
     */
    account_id: number | null;
    format: string;
    profile: string | null;
    encoding: string | null;
    create_accounts: boolean;
    force_account: boolean;
    /**
     * A file that was changed within this time is left to a later run; null: the kind offers only complete files.
     */
    settle_seconds: number | null;
    on_conflict: 'hold' | 'store' | null;
    status: 'active' | 'paused';
    /**
     * Whether a run is in progress.
     */
    is_running: boolean;
    /**
     * When the last run began.
     */
    last_run_at: string | null;
    /**
     * When the next run is due, later than the schedule says after a failed run; null while paused.
     */
    next_run_at: string | null;
    /**
     * Failed runs since the last one that was done.
     */
    consecutive_failures: number;
    /**
     * What was wrong with the last run, or with the last files; null: nothing.
     */
    error: string | null;
    created_at: string;
};

export type FolderSettings = {
    path: string;
};

export type FolderCredentials = null;

export type SftpSettings = {
    host: string;
    port?: number;
    user: string;
    path?: string;
    host_key: string;
    ssh_rsa?: boolean;
    pattern?: string;
    after?: 'leave' | 'move';
    done_path?: string;
    failed_path?: string;
};

export type SftpCredentials = {
    password?: string;
    private_key?: string;
    passphrase?: string;
};

export type HttpSettings = {
    url: string;
    format?: 'file' | 'json';
    json?: {
        cursor_path: string;
        cursor_parameter: string;
    };
    start?: 'last_page' | 'first_page';
};

export type HttpCredentials = {
    bearer?: string;
    user?: string;
    password?: string;
    headers?: {
        [key: string]: string;
    };
};

export type S3Settings = {
    endpoint?: string;
    region?: string;
    bucket: string;
    prefix?: string;
    pattern?: string;
    path_style?: boolean;
    after?: 'leave' | 'move';
    done_prefix?: string;
    failed_prefix?: string;
};

export type S3Credentials = {
    access_key_id: string;
    secret_access_key: string;
};

export type Schedule = unknown & {
    every?: string;
    cron?: string;
    time_zone?: string;
};

export type NewSource = {
    title: string;
    /**
     * Where the files are. The kind decides which members there are.
     */
    settings: FolderSettings | SftpSettings | HttpSettings | S3Settings;
    /**
     * Stored encrypted and never shown again. The kind decides which members there are.
     */
    credentials?: FolderCredentials | SftpCredentials | HttpCredentials | S3Credentials;
    schedule: Schedule;
    account_id?: number | string | null;
    format?: 'auto' | 'mt940' | 'mt942' | 'camt' | 'ofx' | 'csv' | 'xlsx' | 'bai2' | 'norma43' | 'cfonb120' | 'coda';
    profile?: string | null;
    /**
     * The encoding of text that is not UTF-8 in statement files. null: the letters decide.
     */
    encoding?: 'windows-1250' | 'windows-1251' | 'windows-1252' | 'windows-1253' | 'windows-1254' | 'windows-1255' | 'windows-1256' | 'windows-1257' | 'windows-1258' | 'iso-8859-2' | 'iso-8859-5' | 'iso-8859-7' | 'iso-8859-8' | 'iso-8859-15' | 'ibm850' | 'ibm852' | 'ibm857' | 'ibm866' | 'koi8-r' | 'koi8-u' | 'macintosh' | 'gb18030' | 'big5' | 'shift_jis' | 'euc-jp' | 'euc-kr' | null;
    create_accounts?: boolean;
    /**
     * Whether statements that name another account than `account_id` are stored for it all the same.
     */
    force_account?: boolean;
    /**
     * A file that was changed within this time is left to a later run. Only for the kinds folder and sftp. Default: 5.
     */
    settle_seconds?: number;
    /**
     * Decides about a row with the unique_id of a stored movement and another direction, amount or date. null: the setting of its account.
     */
    on_conflict?: 'hold' | 'store' | null;
    kind: 'folder' | 'sftp' | 'http' | 's3';
};

export type SourceChange = {
    title?: string;
    /**
     * Where the files are. The kind decides which members there are.
     */
    settings?: FolderSettings | SftpSettings | HttpSettings | S3Settings;
    /**
     * Stored encrypted and never shown again. The kind decides which members there are.
     */
    credentials?: FolderCredentials | SftpCredentials | HttpCredentials | S3Credentials;
    schedule?: Schedule;
    account_id?: number | string | null;
    format?: 'auto' | 'mt940' | 'mt942' | 'camt' | 'ofx' | 'csv' | 'xlsx' | 'bai2' | 'norma43' | 'cfonb120' | 'coda';
    profile?: string | null;
    /**
     * The encoding of text that is not UTF-8 in statement files. null: the letters decide.
     */
    encoding?: 'windows-1250' | 'windows-1251' | 'windows-1252' | 'windows-1253' | 'windows-1254' | 'windows-1255' | 'windows-1256' | 'windows-1257' | 'windows-1258' | 'iso-8859-2' | 'iso-8859-5' | 'iso-8859-7' | 'iso-8859-8' | 'iso-8859-15' | 'ibm850' | 'ibm852' | 'ibm857' | 'ibm866' | 'koi8-r' | 'koi8-u' | 'macintosh' | 'gb18030' | 'big5' | 'shift_jis' | 'euc-jp' | 'euc-kr' | null;
    create_accounts?: boolean;
    /**
     * Whether statements that name another account than `account_id` are stored for it all the same.
     */
    force_account?: boolean;
    /**
     * A file that was changed within this time is left to a later run. Only for the kinds folder and sftp. Default: 5.
     */
    settle_seconds?: number;
    /**
     * Decides about a row with the unique_id of a stored movement and another direction, amount or date. null: the setting of its account.
     */
    on_conflict?: 'hold' | 'store' | null;
    status?: 'active' | 'paused';
};

export type SourceRun = {
    id: number;
    status: 'running' | 'done' | 'failed';
    started_at: string;
    finished_at: string | null;
    /**
     * The number of files that were collected.
     */
    files: number;
    /**
     * The imports of these files, at most 100 of each run.
     */
    imports: Array<{
        id: number;
        file: string;
    }>;
    /**
     * Why the run failed, or what is wrong with a file; null: nothing.
     */
    error: string | null;
};

export type ApiKey = {
    id: number;
    /**
     * The first characters of the key.
     */
    prefix: string;
    title: string;
    account: 'all' | Array<number>;
    scopes: Array<'read' | 'import' | 'webhooks' | 'admin'>;
    created_at: string;
    /**
     * When the key was last used, to the minute. null: never.
     */
    last_used_at: string | null;
};

export type NewApiKey = {
    title: string;
    account: 'all' | Array<number | string>;
    scopes?: Array<'read' | 'import' | 'webhooks' | 'admin'>;
};

/**
 * The size of a page.
 */
export type QueryPerPageListWebhooks = number;

/**
 * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
 */
export type HeaderIdempotencyKey = string;

/**
 * The id of the webhook.
 */
export type PathIdGetWebhook = number;

/**
 * The size of a page.
 */
export type QueryPerPageListReplays = number;

/**
 * The id of the replay.
 */
export type PathIdGetReplay = number;

/**
 * The id of the delivery: <webhook_id>-<transaction_id>.
 */
export type PathIdGetDelivery = string;

/**
 * The first date_issue, inclusive. It must not be later than ends.
 */
export type QueryStarts = string;

/**
 * The last date_issue, inclusive.
 */
export type QueryEnds = string;

/**
 * The earliest date_readed, or withdrawn_at with withdrawn=only, inclusive: YYYY-MM-DD HH:mm:ss with or without an offset. You can paste a date_readed.
 */
export type QueryAfter = string;

/**
 * The direction in which the money moved.
 */
export type QueryDc = 'Debit' | 'Credit';

/**
 * The amount, with up to three decimals. 1250 is also 1250.00.
 */
export type QueryAmount = string;

/**
 * The least amount, inclusive.
 */
export type QueryAmountMin = string;

/**
 * The greatest amount, inclusive.
 */
export type QueryAmountMax = string;

/**
 * The currency of the account (ISO 4217).
 */
export type QueryCurrency = string;

/**
 * Words. Each must occur in the description, the name, the opponent_id, the opponent_iban without blanks, or the code. Case and accents do not matter.
 */
export type QueryQ = string;

/**
 * The account of the counterparty. Blanks and case do not matter.
 */
export type QueryOpponentIban = string;

/**
 * The movement's unique_id, exactly as it is listed.
 */
export type QueryUniqueId = string;

/**
 * Only movements that this import has stored.
 */
export type QueryImportId = number;

/**
 * "only" lists movements that were withdrawn, in the order of their withdrawals, with withdrawn_at and withdrawn_reason. Otherwise they are left out.
 */
export type QueryWithdrawn = 'only';

/**
 * Which movements come first. Both are in the order of ids, or of withdrawals.
 */
export type QueryOrder = 'oldest' | 'newest';

/**
 * The number of the page, from 1. Not together with cursor, q, an amount, opponent_iban, withdrawn or CSV.
 */
export type QueryPage = number;

/**
 * The size of a page. A CSV has all pages.
 */
export type QueryPerPageListTransactions = number;

/**
 * Where the page begins: the cursor in the header Link of the previous page.
 */
export type QueryCursorListTransactions = string;

/**
 * "extended" adds what the bank says beyond the usual fields, as the object extended.
 */
export type QueryFields = 'extended';

/**
 * "csv" answers with a CSV file of all pages, whatever the header Accept says.
 */
export type QueryFormat = 'json' | 'csv';

/**
 * The columns of a CSV, in their order: id, account_id, account, bank, currency, date_issue, date_readed, dc, amount, balance, name, description, code, opponent_id, opponent_iban, unique_id, signed_amount, bank_id, withdrawn_at, withdrawn_reason, value_date, end_to_end_id, creditor_reference, mandate_reference, bank_transaction_code, statement_id, line, reverses, original_amount, original_currency, exchange_rate. signed_amount is negative for a Debit.
 */
export type QueryColumns = string;

/**
 * The sign between the cells of a CSV. By default a comma. A spreadsheet whose decimal sign is a comma expects a semicolon.
 */
export type QuerySeparator = 'comma' | 'semicolon';

/**
 * The decimal sign of the amounts of a CSV. By default a point.
 */
export type QueryDecimal = 'point' | 'comma';

/**
 * A CSV begins with a byte order mark, so that Excel takes it for UTF-8.
 */
export type QueryBom = 'true' | 'false';

/**
 * A CSV has texts as they are. By default, a text that a spreadsheet would take for a formula has an apostrophe in front.
 */
export type QueryRaw = 'true' | 'false';

/**
 * The id of the movement.
 */
export type PathIdGetTransaction = number;

/**
 * The id of the account.
 */
export type PathIdGetAccount = number;

/**
 * The id of the import.
 */
export type PathIdGetImport = number;

/**
 * The id of the conflict.
 */
export type PathIdGetConflict = number;

/**
 * Says what would be withdrawn, and changes nothing. The body may be left out then.
 */
export type QueryDryRun = 'true' | 'false';

/**
 * With dry_run: the movements of a page.
 */
export type QueryPerPageWithdrawImport = number;

/**
 * With dry_run: where the page begins, from the header Link of the page before.
 */
export type QueryCursorWithdrawImport = string;

/**
 * The id of the source.
 */
export type PathIdGetSource = number;

export type GetHealthData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/healthz';
};

export type GetHealthErrors = {
    /**
     * Malformed request
     */
    400: MalformedProblem;
    /**
     * Request timeout
     */
    408: RequestTimeoutProblem;
    /**
     * Headers too large
     */
    431: HeadersTooLargeProblem;
};

export type GetHealthError = GetHealthErrors[keyof GetHealthErrors];

export type GetHealthResponses = {
    /**
     * The process answers.
     */
    200: {
        status: 'ok';
        version: string;
    };
};

export type GetHealthResponse = GetHealthResponses[keyof GetHealthResponses];

export type GetReadinessData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/readyz';
};

export type GetReadinessErrors = {
    /**
     * Malformed request
     */
    400: MalformedProblem;
    /**
     * Request timeout
     */
    408: RequestTimeoutProblem;
    /**
     * Headers too large
     */
    431: HeadersTooLargeProblem;
    /**
     * At least one of them is not ready.
     */
    503: {
        status: 'ready' | 'not ready';
        mysql: string;
        redis: string;
        migrations: string;
    };
};

export type GetReadinessError = GetReadinessErrors[keyof GetReadinessErrors];

export type GetReadinessResponses = {
    /**
     * The service takes requests. Each is "ok", or mysql says which setting of it refuses large imports.
     */
    200: {
        status: 'ready' | 'not ready';
        mysql: string;
        redis: string;
        migrations: string;
    };
};

export type GetReadinessResponse = GetReadinessResponses[keyof GetReadinessResponses];

export type ListWebhooksData = {
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
    url: '/v1/webhooks';
};

export type ListWebhooksErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListWebhooksError = ListWebhooksErrors[keyof ListWebhooksErrors];

export type ListWebhooksResponses = {
    /**
     * A page of webhooks.
     */
    200: {
        webhooks: Array<Webhook>;
    };
};

export type ListWebhooksResponse = ListWebhooksResponses[keyof ListWebhooksResponses];

export type CreateWebhookData = {
    body: NewWebhook;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/webhooks';
};

export type CreateWebhookErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Request in progress; Idempotency key reused; Too many webhooks
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

export type CreateWebhookError = CreateWebhookErrors[keyof CreateWebhookErrors];

export type CreateWebhookResponses = {
    /**
     * The webhook, with its secret, unless the delivery is pull.
     */
    200: {
        webhook: Webhook;
    };
};

export type CreateWebhookResponse = CreateWebhookResponses[keyof CreateWebhookResponses];

export type DeleteWebhookData = {
    body?: never;
    path: {
        /**
         * The id of the webhook.
         */
        id: number;
    };
    query?: never;
    url: '/v1/webhooks/{id}';
};

export type DeleteWebhookErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Webhook of a template
     */
    409: WebhookOfTemplateProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type DeleteWebhookError = DeleteWebhookErrors[keyof DeleteWebhookErrors];

export type DeleteWebhookResponses = {
    /**
     * The webhook is deleted.
     */
    200: {
        status: 'success';
    };
};

export type DeleteWebhookResponse = DeleteWebhookResponses[keyof DeleteWebhookResponses];

export type GetWebhookData = {
    body?: never;
    path: {
        /**
         * The id of the webhook.
         */
        id: number;
    };
    query?: never;
    url: '/v1/webhooks/{id}';
};

export type GetWebhookErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetWebhookError = GetWebhookErrors[keyof GetWebhookErrors];

export type GetWebhookResponses = {
    /**
     * The webhook, without its secret.
     */
    200: {
        webhook: Webhook;
    };
};

export type GetWebhookResponse = GetWebhookResponses[keyof GetWebhookResponses];

export type UpdateWebhookData = {
    body: WebhookChange;
    path: {
        /**
         * The id of the webhook.
         */
        id: number;
    };
    query?: never;
    url: '/v1/webhooks/{id}';
};

export type UpdateWebhookErrors = {
    /**
     * Missing scope; API key limited to some accounts; Deliveries of other accounts are pending
     */
    403: Problem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Webhook of a template
     */
    409: WebhookOfTemplateProblem;
    /**
     * Invalid request; Endpoint refused
     */
    422: ProblemWithErrors;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type UpdateWebhookError = UpdateWebhookErrors[keyof UpdateWebhookErrors];

export type UpdateWebhookResponses = {
    /**
     * The webhook, without its secret.
     */
    200: {
        webhook: Webhook;
    };
};

export type UpdateWebhookResponse = UpdateWebhookResponses[keyof UpdateWebhookResponses];

export type TestWebhookData = {
    body?: never;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the webhook.
         */
        id: number;
    };
    query?: never;
    url: '/v1/webhooks/{id}/test';
};

export type TestWebhookErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Rate limit exceeded; Too many unknown API keys; Too many test notifications
     */
    429: Problem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type TestWebhookError = TestWebhookErrors[keyof TestWebhookErrors];

export type TestWebhookResponses = {
    /**
     * What the endpoint answered.
     */
    202: {
        test: TestNotification;
    };
};

export type TestWebhookResponse = TestWebhookResponses[keyof TestWebhookResponses];

export type RotateWebhookSecretData = {
    body?: never;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the webhook.
         */
        id: number;
    };
    query?: never;
    url: '/v1/webhooks/{id}/rotate-secret';
};

export type RotateWebhookSecretErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Request in progress; Idempotency key reused; Events are pulled; Webhook of a template
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

export type RotateWebhookSecretError = RotateWebhookSecretErrors[keyof RotateWebhookSecretErrors];

export type RotateWebhookSecretResponses = {
    /**
     * The webhook, with its new secret, which is shown in this answer only.
     */
    200: {
        webhook: Webhook;
    };
};

export type RotateWebhookSecretResponse = RotateWebhookSecretResponses[keyof RotateWebhookSecretResponses];

export type ReplayWebhookData = {
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
         * The id of the webhook.
         */
        id: number;
    };
    query?: {
        /**
         * true: only count. Nothing is sent again.
         */
        dry_run?: 'true' | 'false';
    };
    url: '/v1/webhooks/{id}/replay';
};

export type ReplayWebhookErrors = {
    /**
     * Missing scope; Deliveries of other accounts are pending
     */
    403: Problem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Request in progress; Idempotency key reused; Webhook disabled; Webhook deleted
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

export type ReplayWebhookError = ReplayWebhookErrors[keyof ReplayWebhookErrors];

export type ReplayWebhookResponses = {
    /**
     * The accepted replay, or, with dry_run=true, what it would send.
     */
    202: {
        replay: Replay;
    };
};

export type ReplayWebhookResponse = ReplayWebhookResponses[keyof ReplayWebhookResponses];

export type ListReplaysData = {
    body?: never;
    path: {
        /**
         * The id of the webhook.
         */
        id: number;
    };
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
    url: '/v1/webhooks/{id}/replays';
};

export type ListReplaysErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListReplaysError = ListReplaysErrors[keyof ListReplaysErrors];

export type ListReplaysResponses = {
    /**
     * A page of replays.
     */
    200: {
        replays: Array<ReplayProgress>;
    };
};

export type ListReplaysResponse = ListReplaysResponses[keyof ListReplaysResponses];

export type GetReplayData = {
    body?: never;
    path: {
        /**
         * The id of the replay.
         */
        id: number;
    };
    query?: never;
    url: '/v1/replays/{id}';
};

export type GetReplayErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetReplayError = GetReplayErrors[keyof GetReplayErrors];

export type GetReplayResponses = {
    /**
     * The replay.
     */
    200: {
        replay: ReplayProgress;
    };
};

export type GetReplayResponse = GetReplayResponses[keyof GetReplayResponses];

export type CancelReplayData = {
    body?: never;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the replay.
         */
        id: number;
    };
    query?: never;
    url: '/v1/replays/{id}/cancel';
};

export type CancelReplayErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Request in progress; Idempotency key reused; Replay done
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

export type CancelReplayError = CancelReplayErrors[keyof CancelReplayErrors];

export type CancelReplayResponses = {
    /**
     * The cancelled replay.
     */
    200: {
        replay: ReplayProgress;
    };
};

export type CancelReplayResponse = CancelReplayResponses[keyof CancelReplayResponses];

export type ReadFeedData = {
    body?: never;
    headers?: {
        /**
         * The cursor of the last event of the stream before. Only for a stream.
         */
        'Last-Event-ID'?: string;
    };
    path: {
        /**
         * The id of the webhook.
         */
        id: number;
    };
    query?: {
        /**
         * The cursor of the answer before.
         */
        cursor?: string;
        /**
         * The most events of the answer. A stream has no limit.
         */
        limit?: number;
        /**
         * How long to wait for an event if there is none, in seconds.
         */
        wait?: number;
    };
    url: '/v1/webhooks/{id}/feed';
};

export type ReadFeedErrors = {
    /**
     * Missing scope; Deliveries of other accounts are pending
     */
    403: Problem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Not a feed
     */
    409: NotAFeedProblem;
    /**
     * Cursor gone
     */
    410: CursorGoneProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Rate limit exceeded; Too many unknown API keys; Too many readers
     */
    429: Problem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ReadFeedError = ReadFeedErrors[keyof ReadFeedErrors];

export type ReadFeedResponses = {
    /**
     * The next events; none if nothing has come.
     */
    200: {
        events: Array<{
            /**
             * Stays the same however often the event is read. A POST would have it as webhook-id. That of a test begins with msg_test_.
             */
            id: string;
            /**
             * When the movement was stored, in seconds since 1970.
             */
            timestamp: number;
            /**
             * Only if the webhook lists WITHDRAWN_TRANSACTION: whether the movement is new or was withdrawn. The id of a withdrawal is that of its movement, followed by -withdrawn.
             */
            event?: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT' | 'WITHDRAWN_TRANSACTION';
            /**
             * The notification, as a POST would have it in JSON, with its hash.
             */
            body: {
                [key: string]: unknown;
            };
        }>;
        /**
         * Acknowledges these events, and continues after them, with the next request.
         */
        cursor: string;
        /**
         * Whether more events are there already.
         */
        more: boolean;
    };
};

export type ReadFeedResponse = ReadFeedResponses[keyof ReadFeedResponses];

export type ListWebhookDeliveriesData = {
    body?: never;
    path: {
        /**
         * The id of the webhook.
         */
        id: number;
    };
    query?: {
        /**
         * Only deliveries with this status.
         */
        status?: 'pending' | 'delivered' | 'failed';
        /**
         * Only movements, or balances, of this account.
         */
        account?: number;
        /**
         * Only the delivery of this movement.
         */
        movement?: number;
        /**
         * The earliest date_readed of the movement, inclusive. It must not be later than until.
         */
        since?: string;
        /**
         * The latest date_readed of the movement, inclusive.
         */
        until?: string;
        /**
         * The size of a page.
         */
        per_page?: number;
        /**
         * Where the page begins: the cursor in the header Link of the previous page.
         */
        cursor?: string;
    };
    url: '/v1/webhooks/{id}/deliveries';
};

export type ListWebhookDeliveriesErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListWebhookDeliveriesError = ListWebhookDeliveriesErrors[keyof ListWebhookDeliveriesErrors];

export type ListWebhookDeliveriesResponses = {
    /**
     * A page of deliveries.
     */
    200: {
        deliveries: Array<Delivery>;
    };
};

export type ListWebhookDeliveriesResponse = ListWebhookDeliveriesResponses[keyof ListWebhookDeliveriesResponses];

export type GetDeliveryData = {
    body?: never;
    path: {
        /**
         * The id of the delivery: <webhook_id>-<transaction_id>.
         */
        id: string;
    };
    query?: never;
    url: '/v1/deliveries/{id}';
};

export type GetDeliveryErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetDeliveryError = GetDeliveryErrors[keyof GetDeliveryErrors];

export type GetDeliveryResponses = {
    /**
     * The delivery, with its attempts from the first to the last.
     */
    200: {
        delivery: {
            /**
             * <webhook_id>-<transaction_id>, or <webhook_id>-<event_id>
             */
            id: string;
            webhook_id: number;
            /**
             * null: the delivery of an event, to a webhook with the event OPERATIONAL or BALANCE_UPDATED.
             */
            transaction_id: number | null;
            /**
             * The id of the event, also of the withdrawal of the movement. null: the delivery of a new movement.
             */
            event_id: number | null;
            /**
             * cancelled: the webhook was deleted before the movement was delivered.
             */
            status: 'pending' | 'delivered' | 'failed' | 'cancelled';
            attempts: number;
            due_at: string | null;
            created_at: string;
            finished_at: string | null;
            last_error: string | null;
            log: Array<Attempt>;
            rejected_batches: Array<RejectedBatch>;
        };
    };
};

export type GetDeliveryResponse = GetDeliveryResponses[keyof GetDeliveryResponses];

export type RedeliverData = {
    body?: never;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the delivery: <webhook_id>-<transaction_id>.
         */
        id: string;
    };
    query?: never;
    url: '/v1/deliveries/{id}/redeliver';
};

export type RedeliverErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Request in progress; Idempotency key reused; Webhook disabled; Webhook deleted; Account being deleted; Movement withdrawn; Events are pulled
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

export type RedeliverError = RedeliverErrors[keyof RedeliverErrors];

export type RedeliverResponses = {
    /**
     * The delivery, now pending.
     */
    202: {
        delivery: Delivery;
    };
};

export type RedeliverResponse = RedeliverResponses[keyof RedeliverResponses];

export type ListTransactionsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * The first date_issue, inclusive. It must not be later than ends.
         */
        starts?: string;
        /**
         * The last date_issue, inclusive.
         */
        ends?: string;
        /**
         * The earliest date_readed, or withdrawn_at with withdrawn=only, inclusive: YYYY-MM-DD HH:mm:ss with or without an offset. You can paste a date_readed.
         */
        after?: string;
        /**
         * The direction in which the money moved.
         */
        dc?: 'Debit' | 'Credit';
        /**
         * The amount, with up to three decimals. 1250 is also 1250.00.
         */
        amount?: string;
        /**
         * The least amount, inclusive.
         */
        amount_min?: string;
        /**
         * The greatest amount, inclusive.
         */
        amount_max?: string;
        /**
         * The currency of the account (ISO 4217).
         */
        currency?: string;
        /**
         * Words. Each must occur in the description, the name, the opponent_id, the opponent_iban without blanks, or the code. Case and accents do not matter.
         */
        q?: string;
        /**
         * The account of the counterparty. Blanks and case do not matter.
         */
        opponent_iban?: string;
        /**
         * The movement's unique_id, exactly as it is listed.
         */
        unique_id?: string;
        /**
         * Only movements that this import has stored.
         */
        import_id?: number;
        /**
         * "only" lists movements that were withdrawn, in the order of their withdrawals, with withdrawn_at and withdrawn_reason. Otherwise they are left out.
         */
        withdrawn?: 'only';
        /**
         * Which movements come first. Both are in the order of ids, or of withdrawals.
         */
        order?: 'oldest' | 'newest';
        /**
         * The number of the page, from 1. Not together with cursor, q, an amount, opponent_iban, withdrawn or CSV.
         */
        page?: number;
        /**
         * The size of a page. A CSV has all pages.
         */
        per_page?: number;
        /**
         * Where the page begins: the cursor in the header Link of the previous page.
         */
        cursor?: string;
        /**
         * "extended" adds what the bank says beyond the usual fields, as the object extended.
         */
        fields?: 'extended';
        /**
         * "csv" answers with a CSV file of all pages, whatever the header Accept says.
         */
        format?: 'json' | 'csv';
        /**
         * The columns of a CSV, in their order: id, account_id, account, bank, currency, date_issue, date_readed, dc, amount, balance, name, description, code, opponent_id, opponent_iban, unique_id, signed_amount, bank_id, withdrawn_at, withdrawn_reason, value_date, end_to_end_id, creditor_reference, mandate_reference, bank_transaction_code, statement_id, line, reverses, original_amount, original_currency, exchange_rate. signed_amount is negative for a Debit.
         */
        columns?: string;
        /**
         * The sign between the cells of a CSV. By default a comma. A spreadsheet whose decimal sign is a comma expects a semicolon.
         */
        separator?: 'comma' | 'semicolon';
        /**
         * The decimal sign of the amounts of a CSV. By default a point.
         */
        decimal?: 'point' | 'comma';
        /**
         * A CSV begins with a byte order mark, so that Excel takes it for UTF-8.
         */
        bom?: 'true' | 'false';
        /**
         * A CSV has texts as they are. By default, a text that a spreadsheet would take for a formula has an apostrophe in front.
         */
        raw?: 'true' | 'false';
        /**
         * Only these accounts: up to 100 ids, with commas between them.
         */
        account?: string;
    };
    url: '/v1/transactions';
};

export type ListTransactionsErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Database unavailable; Too many requests at once; Too much work at the same time
     */
    503: Problem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListTransactionsError = ListTransactionsErrors[keyof ListTransactionsErrors];

export type ListTransactionsResponses = {
    /**
     * A page of movements.
     */
    200: {
        transactions: Array<Transaction>;
    };
};

export type ListTransactionsResponse = ListTransactionsResponses[keyof ListTransactionsResponses];

export type GetTransactionData = {
    body?: never;
    path: {
        /**
         * The id of the movement.
         */
        id: number;
    };
    query?: {
        /**
         * "extended" adds what the bank says beyond the usual fields, as the object extended.
         */
        fields?: 'extended';
    };
    url: '/v1/transactions/{id}';
};

export type GetTransactionErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetTransactionError = GetTransactionErrors[keyof GetTransactionErrors];

export type GetTransactionResponses = {
    /**
     * The movement.
     */
    200: {
        transaction: Transaction;
    };
};

export type GetTransactionResponse = GetTransactionResponses[keyof GetTransactionResponses];

export type ListTransactionDeliveriesData = {
    body?: never;
    path: {
        /**
         * The id of the movement.
         */
        id: number;
    };
    query?: never;
    url: '/v1/transactions/{id}/deliveries';
};

export type ListTransactionDeliveriesErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListTransactionDeliveriesError = ListTransactionDeliveriesErrors[keyof ListTransactionDeliveriesErrors];

export type ListTransactionDeliveriesResponses = {
    /**
     * The deliveries, by webhook id.
     */
    200: {
        deliveries: Array<Delivery>;
    };
};

export type ListTransactionDeliveriesResponse = ListTransactionDeliveriesResponses[keyof ListTransactionDeliveriesResponses];

export type ListAccountsData = {
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
    url: '/v1/accounts';
};

export type ListAccountsErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListAccountsError = ListAccountsErrors[keyof ListAccountsErrors];

export type ListAccountsResponses = {
    /**
     * A page of accounts.
     */
    200: {
        accounts: Array<Account>;
    };
};

export type ListAccountsResponse = ListAccountsResponses[keyof ListAccountsResponses];

export type CreateAccountData = {
    body: NewAccount;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/accounts';
};

export type CreateAccountErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Request in progress; Idempotency key reused; Too many accounts
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

export type CreateAccountError = CreateAccountErrors[keyof CreateAccountErrors];

export type CreateAccountResponses = {
    /**
     * The account.
     */
    200: {
        account: Account;
    };
};

export type CreateAccountResponse = CreateAccountResponses[keyof CreateAccountResponses];

export type DeleteAccountData = {
    body?: never;
    path: {
        /**
         * The id of the account.
         */
        id: number;
    };
    query?: never;
    url: '/v1/accounts/{id}';
};

export type DeleteAccountErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type DeleteAccountError = DeleteAccountErrors[keyof DeleteAccountErrors];

export type DeleteAccountResponses = {
    /**
     * The account, which is being deleted.
     */
    202: {
        account: Account;
    };
};

export type DeleteAccountResponse = DeleteAccountResponses[keyof DeleteAccountResponses];

export type GetAccountData = {
    body?: never;
    path: {
        /**
         * The id of the account.
         */
        id: number;
    };
    query?: never;
    url: '/v1/accounts/{id}';
};

export type GetAccountErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetAccountError = GetAccountErrors[keyof GetAccountErrors];

export type GetAccountResponses = {
    /**
     * A list with this account only.
     */
    200: {
        accounts: Array<Account>;
    };
};

export type GetAccountResponse = GetAccountResponses[keyof GetAccountResponses];

export type UpdateAccountData = {
    body: AccountChange;
    path: {
        /**
         * The id of the account.
         */
        id: number;
    };
    query?: never;
    url: '/v1/accounts/{id}';
};

export type UpdateAccountErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type UpdateAccountError = UpdateAccountErrors[keyof UpdateAccountErrors];

export type UpdateAccountResponses = {
    /**
     * The account.
     */
    200: {
        account: Account;
    };
};

export type UpdateAccountResponse = UpdateAccountResponses[keyof UpdateAccountResponses];

export type ListAccountTransactionsData = {
    body?: never;
    path: {
        /**
         * The id of the account.
         */
        account_id: number;
    };
    query?: {
        /**
         * The first date_issue, inclusive. It must not be later than ends.
         */
        starts?: string;
        /**
         * The last date_issue, inclusive.
         */
        ends?: string;
        /**
         * The earliest date_readed, or withdrawn_at with withdrawn=only, inclusive: YYYY-MM-DD HH:mm:ss with or without an offset. You can paste a date_readed.
         */
        after?: string;
        /**
         * The direction in which the money moved.
         */
        dc?: 'Debit' | 'Credit';
        /**
         * The amount, with up to three decimals. 1250 is also 1250.00.
         */
        amount?: string;
        /**
         * The least amount, inclusive.
         */
        amount_min?: string;
        /**
         * The greatest amount, inclusive.
         */
        amount_max?: string;
        /**
         * The currency of the account (ISO 4217).
         */
        currency?: string;
        /**
         * Words. Each must occur in the description, the name, the opponent_id, the opponent_iban without blanks, or the code. Case and accents do not matter.
         */
        q?: string;
        /**
         * The account of the counterparty. Blanks and case do not matter.
         */
        opponent_iban?: string;
        /**
         * The movement's unique_id, exactly as it is listed.
         */
        unique_id?: string;
        /**
         * Only movements that this import has stored.
         */
        import_id?: number;
        /**
         * "only" lists movements that were withdrawn, in the order of their withdrawals, with withdrawn_at and withdrawn_reason. Otherwise they are left out.
         */
        withdrawn?: 'only';
        /**
         * Which movements come first. Both are in the order of ids, or of withdrawals.
         */
        order?: 'oldest' | 'newest';
        /**
         * The number of the page, from 1. Not together with cursor, q, an amount, opponent_iban, withdrawn or CSV.
         */
        page?: number;
        /**
         * The size of a page. A CSV has all pages.
         */
        per_page?: number;
        /**
         * Where the page begins: the cursor in the header Link of the previous page.
         */
        cursor?: string;
        /**
         * "extended" adds what the bank says beyond the usual fields, as the object extended.
         */
        fields?: 'extended';
        /**
         * "csv" answers with a CSV file of all pages, whatever the header Accept says.
         */
        format?: 'json' | 'csv';
        /**
         * The columns of a CSV, in their order: id, account_id, account, bank, currency, date_issue, date_readed, dc, amount, balance, name, description, code, opponent_id, opponent_iban, unique_id, signed_amount, bank_id, withdrawn_at, withdrawn_reason, value_date, end_to_end_id, creditor_reference, mandate_reference, bank_transaction_code, statement_id, line, reverses, original_amount, original_currency, exchange_rate. signed_amount is negative for a Debit.
         */
        columns?: string;
        /**
         * The sign between the cells of a CSV. By default a comma. A spreadsheet whose decimal sign is a comma expects a semicolon.
         */
        separator?: 'comma' | 'semicolon';
        /**
         * The decimal sign of the amounts of a CSV. By default a point.
         */
        decimal?: 'point' | 'comma';
        /**
         * A CSV begins with a byte order mark, so that Excel takes it for UTF-8.
         */
        bom?: 'true' | 'false';
        /**
         * A CSV has texts as they are. By default, a text that a spreadsheet would take for a formula has an apostrophe in front.
         */
        raw?: 'true' | 'false';
    };
    url: '/v1/accounts/{account_id}/transactions';
};

export type ListAccountTransactionsErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Database unavailable; Too many requests at once; Too much work at the same time
     */
    503: Problem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListAccountTransactionsError = ListAccountTransactionsErrors[keyof ListAccountTransactionsErrors];

export type ListAccountTransactionsResponses = {
    /**
     * A page of movements.
     */
    200: {
        transactions: Array<Transaction>;
    };
};

export type ListAccountTransactionsResponse = ListAccountTransactionsResponses[keyof ListAccountTransactionsResponses];

export type ListBalancesData = {
    body?: never;
    path: {
        /**
         * The id of the account.
         */
        id: number;
    };
    query?: {
        /**
         * The first day.
         */
        from?: string;
        /**
         * The last day.
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
    url: '/v1/accounts/{id}/balances';
};

export type ListBalancesErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListBalancesError = ListBalancesErrors[keyof ListBalancesErrors];

export type ListBalancesResponses = {
    /**
     * A page of balances.
     */
    200: {
        balances: Array<Balance>;
    };
};

export type ListBalancesResponse = ListBalancesResponses[keyof ListBalancesResponses];

export type ListStatementsData = {
    body?: never;
    path: {
        /**
         * The id of the account.
         */
        id: number;
    };
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
    url: '/v1/accounts/{id}/statements';
};

export type ListStatementsErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListStatementsError = ListStatementsErrors[keyof ListStatementsErrors];

export type ListStatementsResponses = {
    /**
     * A page of statements.
     */
    200: {
        statements: Array<Statement>;
    };
};

export type ListStatementsResponse = ListStatementsResponses[keyof ListStatementsResponses];

export type GetCompletenessData = {
    body?: never;
    path: {
        /**
         * The id of the account.
         */
        id: number;
    };
    query?: {
        /**
         * Only periods that end on this day or later.
         */
        from?: string;
        /**
         * Only periods that begin on this day or earlier.
         */
        to?: string;
    };
    url: '/v1/accounts/{id}/completeness';
};

export type GetCompletenessErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetCompletenessError = GetCompletenessErrors[keyof GetCompletenessErrors];

export type GetCompletenessResponses = {
    /**
     * The periods of the account, by their days: the last 1,000 of the time.
     */
    200: {
        completeness: Completeness;
    };
};

export type GetCompletenessResponse = GetCompletenessResponses[keyof GetCompletenessResponses];

export type ListBanksData = {
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
    url: '/v1/banks';
};

export type ListBanksErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListBanksError = ListBanksErrors[keyof ListBanksErrors];

export type ListBanksResponses = {
    /**
     * A page of banks.
     */
    200: {
        banks: Array<Bank>;
    };
};

export type ListBanksResponse = ListBanksResponses[keyof ListBanksResponses];

export type ListApiKeysData = {
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
    url: '/v1/apikeys';
};

export type ListApiKeysErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListApiKeysError = ListApiKeysErrors[keyof ListApiKeysErrors];

export type ListApiKeysResponses = {
    /**
     * A page of API keys.
     */
    200: {
        apikeys: Array<ApiKey>;
    };
};

export type ListApiKeysResponse = ListApiKeysResponses[keyof ListApiKeysResponses];

export type CreateApiKeyData = {
    body: NewApiKey;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/apikeys';
};

export type CreateApiKeyErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Request in progress; Idempotency key reused; Too many API keys
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

export type CreateApiKeyError = CreateApiKeyErrors[keyof CreateApiKeyErrors];

export type CreateApiKeyResponses = {
    /**
     * The API key.
     */
    200: {
        apikey: {
            id: number;
            /**
             * Shown only in this answer. null: this is the answer to a repeated Idempotency-Key.
             */
            apikey: string | null;
        };
    };
};

export type CreateApiKeyResponse = CreateApiKeyResponses[keyof CreateApiKeyResponses];

export type DeleteApiKeyData = {
    body?: never;
    path: {
        /**
         * The id of the API key.
         */
        id: number;
    };
    query?: never;
    url: '/v1/apikeys/{id}';
};

export type DeleteApiKeyErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Import not finished
     */
    409: UnfinishedImportProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type DeleteApiKeyError = DeleteApiKeyErrors[keyof DeleteApiKeyErrors];

export type DeleteApiKeyResponses = {
    /**
     * The API key is deleted.
     */
    200: {
        status: 'success';
    };
};

export type DeleteApiKeyResponse = DeleteApiKeyResponses[keyof DeleteApiKeyResponses];

export type GetApiSecretData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/v1/settings/api';
};

export type GetApiSecretErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetApiSecretError = GetApiSecretErrors[keyof GetApiSecretErrors];

export type GetApiSecretResponses = {
    /**
     * The API secret.
     */
    200: {
        api_secret: string;
    };
};

export type GetApiSecretResponse = GetApiSecretResponses[keyof GetApiSecretResponses];

export type RotateApiSecretData = {
    body?: never;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/settings/api/rotate';
};

export type RotateApiSecretErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type RotateApiSecretError = RotateApiSecretErrors[keyof RotateApiSecretErrors];

export type RotateApiSecretResponses = {
    /**
     * The new API secret.
     */
    200: {
        /**
         * Shown only in this answer. null: this is the answer to a repeated Idempotency-Key.
         */
        api_secret: string | null;
    };
};

export type RotateApiSecretResponse = RotateApiSecretResponses[keyof RotateApiSecretResponses];

export type ListImportsData = {
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
    url: '/v1/imports';
};

export type ListImportsErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListImportsError = ListImportsErrors[keyof ListImportsErrors];

export type ListImportsResponses = {
    /**
     * A page of imports.
     */
    200: {
        imports: Array<Import>;
    };
};

export type ListImportsResponse = ListImportsResponses[keyof ListImportsResponses];

export type CreateImportData = {
    body: NewImport;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: {
        /**
         * The format of the body. JSON and NDJSON must match the content type. auto: the content type decides, and for a statement file its content.
         */
        format?: 'json' | 'ndjson' | 'auto' | 'mt940' | 'mt942' | 'camt' | 'ofx' | 'csv' | 'xlsx' | 'bai2' | 'norma43' | 'cfonb120' | 'coda';
        /**
         * Statement files only: the account that all statements in the file are about. By default each statement says which.
         */
        account_id?: number;
        /**
         * CSV and XLSX only: the name of the profile that describes the columns. By default the headings decide.
         */
        profile?: string;
        /**
         * Statement files only: whether accounts that you do not have are created. Needs a key for all accounts.
         */
        create_accounts?: 'true' | 'false';
        /**
         * Statement files only, with `account_id`: whether a statement that names another account is stored for `account_id` all the same, with a warning. By default it is rejected.
         */
        force_account?: 'true' | 'false';
        /**
         * Decides about a row without an id that equals a stored movement. known: it is the same movement, and counts in assumed_duplicates. store: it is another movement.
         */
        unidentified?: 'known' | 'store';
        /**
         * true: read the body as an import would, and store nothing.
         */
        dry_run?: 'true' | 'false';
    };
    url: '/v1/imports';
};

export type CreateImportErrors = {
    /**
     * Malformed request; Malformed JSON; Malformed multipart body
     */
    400: Problem;
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Invalid request; Unreadable file
     */
    422: ProblemWithErrors;
    /**
     * Database unavailable; Too many requests at once; Upload interrupted; Too much work at the same time
     */
    503: Problem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type CreateImportError = CreateImportErrors[keyof CreateImportErrors];

export type CreateImportResponses = {
    /**
     * With dry_run=true: what an import would store.
     */
    200: DryRun;
    /**
     * The accepted import. Follow it at the path in the header Location.
     */
    202: {
        import: Import;
    };
};

export type CreateImportResponse = CreateImportResponses[keyof CreateImportResponses];

export type GetImportData = {
    body?: never;
    path: {
        /**
         * The id of the import.
         */
        id: number;
    };
    query?: never;
    url: '/v1/imports/{id}';
};

export type GetImportErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetImportError = GetImportErrors[keyof GetImportErrors];

export type GetImportResponses = {
    /**
     * The import.
     */
    200: {
        import: {
            id: number;
            /**
             * The source that has collected it; null: it was sent with an API key.
             */
            source_id: number | null;
            status: 'queued' | 'running' | 'done' | 'failed';
            /**
             * What was sent. auto: the content of a statement file decides, and detected_format says how.
             */
            format: string;
            /**
             * The format of the first statement in a statement file. null: no statement was read yet, or the import is JSON or NDJSON.
             */
            detected_format: string | null;
            received: number | null;
            inserted: number;
            duplicates: number;
            /**
             * Of the duplicates, those with another text or balance than what is stored.
             */
            changed: number;
            /**
             * Of the duplicates, those without an id. They equal a stored movement, but nothing proves that they are the same.
             */
            assumed_duplicates: number;
            /**
             * Inserted rows that may be a stored movement, because nothing proves the opposite.
             */
            assumed_new: number;
            /**
             * Rows with the unique_id of a stored movement and another direction, amount or date. They are no duplicates: GET /v1/conflicts lists them.
             */
            conflicts: number;
            rejected: number;
            deliveries: number;
            statements: number;
            warnings: number;
            /**
             * The first 3 warnings, by line. GET /v1/imports/{id}/errors lists more of them.
             */
            first_warnings: Array<ImportWarning>;
            /**
             * The stored statements that statements of the file contradict: the same number or days, the same opening balance, and other entries. A warning says of each by how much.
             */
            contradicts: Array<number>;
            received_at: string;
            started_at: string | null;
            finished_at: string | null;
            error: string | null;
            /**
             * Statements that are missing before those of this import, once it is done. A gap is gone when the missing file has come.
             */
            gaps: Array<{
                account_id: number;
                /**
                 * The first day without a statement.
                 */
                from: string;
                to: string;
                /**
                 * What was booked in the gap.
                 */
                difference: string;
                currency: string;
            }>;
        };
    };
};

export type GetImportResponse = GetImportResponses[keyof GetImportResponses];

export type ListImportRejectionsData = {
    body?: never;
    path: {
        /**
         * The id of the import.
         */
        id: number;
    };
    query?: never;
    url: '/v1/imports/{id}/errors';
};

export type ListImportRejectionsErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListImportRejectionsError = ListImportRejectionsErrors[keyof ListImportRejectionsErrors];

export type ListImportRejectionsResponses = {
    /**
     * The issues, by line, and the import with its counts.
     */
    200: {
        import: Import;
        errors: Array<ImportIssue>;
        warnings: Array<ImportWarning>;
    };
};

export type ListImportRejectionsResponse = ListImportRejectionsResponses[keyof ListImportRejectionsResponses];

export type ListImportFilesData = {
    body?: never;
    path: {
        /**
         * The id of the import.
         */
        id: number;
    };
    query?: never;
    url: '/v1/imports/{id}/files';
};

export type ListImportFilesErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListImportFilesError = ListImportFilesErrors[keyof ListImportFilesErrors];

export type ListImportFilesResponses = {
    /**
     * The files, and the import with its counts.
     */
    200: {
        import: Import;
        files: Array<{
            name: string;
            /**
             * skipped: the file holds no statements, which is a warning. failed: the file cannot be read, or not to its end, which is an error.
             */
            outcome: 'read' | 'skipped' | 'failed';
            /**
             * null: the format is not known.
             */
            format: string | null;
            statements: number;
            /**
             * Booked and pending.
             */
            entries: number;
            /**
             * Why the file was skipped or has failed.
             */
            message: string | null;
        }>;
    };
};

export type ListImportFilesResponse = ListImportFilesResponses[keyof ListImportFilesResponses];

export type ListImportDuplicatesData = {
    body?: never;
    path: {
        /**
         * The id of the import.
         */
        id: number;
    };
    query?: never;
    url: '/v1/imports/{id}/duplicates';
};

export type ListImportDuplicatesErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListImportDuplicatesError = ListImportDuplicatesErrors[keyof ListImportDuplicatesErrors];

export type ListImportDuplicatesResponses = {
    /**
     * The rows in their order, and the import with its counts.
     */
    200: {
        import: Import;
        duplicates: Array<{
            line: number;
            reason: 'same' | 'changed' | 'assumed' | 'conflict' | 'assumed_new';
            transaction_id: number;
        }>;
    };
};

export type ListImportDuplicatesResponse = ListImportDuplicatesResponses[keyof ListImportDuplicatesResponses];

export type RetryImportData = {
    body?: never;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the import.
         */
        id: number;
    };
    query?: never;
    url: '/v1/imports/{id}/retry';
};

export type RetryImportErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Request in progress; Idempotency key reused; Import not failed; Import cannot be retried
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

export type RetryImportError = RetryImportErrors[keyof RetryImportErrors];

export type RetryImportResponses = {
    /**
     * The import, now queued.
     */
    202: {
        import: Import;
    };
};

export type RetryImportResponse = RetryImportResponses[keyof RetryImportResponses];

export type ListConflictsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Only conflicts of this account.
         */
        account_id?: number;
        /**
         * Only conflicts with this status.
         */
        status?: 'open' | 'stored' | 'ignored';
        /**
         * The size of a page.
         */
        per_page?: number;
        /**
         * Where the page begins: the cursor in the header Link of the previous page.
         */
        cursor?: string;
    };
    url: '/v1/conflicts';
};

export type ListConflictsErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListConflictsError = ListConflictsErrors[keyof ListConflictsErrors];

export type ListConflictsResponses = {
    /**
     * A page of conflicts.
     */
    200: {
        conflicts: Array<Conflict>;
    };
};

export type ListConflictsResponse = ListConflictsResponses[keyof ListConflictsResponses];

export type GetConflictData = {
    body?: never;
    path: {
        /**
         * The id of the conflict.
         */
        id: number;
    };
    query?: never;
    url: '/v1/conflicts/{id}';
};

export type GetConflictErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetConflictError = GetConflictErrors[keyof GetConflictErrors];

export type GetConflictResponses = {
    /**
     * The conflict.
     */
    200: {
        conflict: Conflict;
    };
};

export type GetConflictResponse = GetConflictResponses[keyof GetConflictResponses];

export type DecideConflictData = {
    body: {
        /**
         * store: the row is a movement of its own. ignore: the stored movement is the right one.
         */
        decision: 'store' | 'ignore';
    };
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the conflict.
         */
        id: number;
    };
    query?: never;
    url: '/v1/conflicts/{id}';
};

export type DecideConflictErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Request in progress; Idempotency key reused; Conflict already decided; Removed time
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

export type DecideConflictError = DecideConflictErrors[keyof DecideConflictErrors];

export type DecideConflictResponses = {
    /**
     * The decided conflict.
     */
    200: {
        conflict: Conflict;
    };
};

export type DecideConflictResponse = DecideConflictResponses[keyof DecideConflictResponses];

export type WithdrawImportData = {
    body: {
        /**
         * Why it is withdrawn. It is shown with each movement.
         */
        reason: string;
    };
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the import.
         */
        id: number;
    };
    query?: {
        /**
         * Says what would be withdrawn, and changes nothing. The body may be left out then.
         */
        dry_run?: 'true' | 'false';
        /**
         * With dry_run: the movements of a page.
         */
        per_page?: number;
        /**
         * With dry_run: where the page begins, from the header Link of the page before.
         */
        cursor?: string;
    };
    url: '/v1/imports/{id}/withdraw';
};

export type WithdrawImportErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Request in progress; Idempotency key reused; Import not finished
     */
    409: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Database unavailable; Too many requests at once; Too much work at the same time
     */
    503: Problem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type WithdrawImportError = WithdrawImportErrors[keyof WithdrawImportErrors];

export type WithdrawImportResponses = {
    /**
     * With dry_run=true: what would be withdrawn, and a page of it.
     */
    200: WithdrawalPlan;
    /**
     * The withdrawal. Follow it at the path in the header Location.
     */
    202: {
        withdrawal: Withdrawal;
    };
};

export type WithdrawImportResponse = WithdrawImportResponses[keyof WithdrawImportResponses];

export type WithdrawStatementData = {
    body: {
        /**
         * Why it is withdrawn. It is shown with each movement.
         */
        reason: string;
    };
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the statement.
         */
        id: number;
    };
    query?: {
        /**
         * Says what would be withdrawn, and changes nothing. The body may be left out then.
         */
        dry_run?: 'true' | 'false';
        /**
         * With dry_run: the movements of a page.
         */
        per_page?: number;
        /**
         * With dry_run: where the page begins, from the header Link of the page before.
         */
        cursor?: string;
    };
    url: '/v1/statements/{id}/withdraw';
};

export type WithdrawStatementErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Request in progress; Idempotency key reused; Import not finished
     */
    409: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Database unavailable; Too many requests at once; Too much work at the same time
     */
    503: Problem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type WithdrawStatementError = WithdrawStatementErrors[keyof WithdrawStatementErrors];

export type WithdrawStatementResponses = {
    /**
     * With dry_run=true: what would be withdrawn, and a page of it.
     */
    200: WithdrawalPlan;
    /**
     * The withdrawal. Follow it at the path in the header Location.
     */
    202: {
        withdrawal: Withdrawal;
    };
};

export type WithdrawStatementResponse = WithdrawStatementResponses[keyof WithdrawStatementResponses];

export type ListWithdrawalsData = {
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
    url: '/v1/withdrawals';
};

export type ListWithdrawalsErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListWithdrawalsError = ListWithdrawalsErrors[keyof ListWithdrawalsErrors];

export type ListWithdrawalsResponses = {
    /**
     * A page of withdrawals.
     */
    200: {
        withdrawals: Array<Withdrawal>;
    };
};

export type ListWithdrawalsResponse = ListWithdrawalsResponses[keyof ListWithdrawalsResponses];

export type GetWithdrawalData = {
    body?: never;
    path: {
        /**
         * The id of the withdrawal.
         */
        id: number;
    };
    query?: never;
    url: '/v1/withdrawals/{id}';
};

export type GetWithdrawalErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetWithdrawalError = GetWithdrawalErrors[keyof GetWithdrawalErrors];

export type GetWithdrawalResponses = {
    /**
     * The withdrawal.
     */
    200: {
        withdrawal: Withdrawal;
    };
};

export type GetWithdrawalResponse = GetWithdrawalResponses[keyof GetWithdrawalResponses];

export type ListSourcesData = {
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
    url: '/v1/sources';
};

export type ListSourcesErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListSourcesError = ListSourcesErrors[keyof ListSourcesErrors];

export type ListSourcesResponses = {
    /**
     * A page of sources.
     */
    200: {
        sources: Array<Source>;
    };
};

export type ListSourcesResponse = ListSourcesResponses[keyof ListSourcesResponses];

export type CreateSourceData = {
    body: NewSource;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path?: never;
    query?: never;
    url: '/v1/sources';
};

export type CreateSourceErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Request in progress; Idempotency key reused; Too many sources
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

export type CreateSourceError = CreateSourceErrors[keyof CreateSourceErrors];

export type CreateSourceResponses = {
    /**
     * The source, without its credentials.
     */
    200: {
        source: Source;
    };
};

export type CreateSourceResponse = CreateSourceResponses[keyof CreateSourceResponses];

export type DeleteSourceData = {
    body?: never;
    path: {
        /**
         * The id of the source.
         */
        id: number;
    };
    query?: never;
    url: '/v1/sources/{id}';
};

export type DeleteSourceErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type DeleteSourceError = DeleteSourceErrors[keyof DeleteSourceErrors];

export type DeleteSourceResponses = {
    /**
     * The source is deleted.
     */
    200: {
        status: 'success';
    };
};

export type DeleteSourceResponse = DeleteSourceResponses[keyof DeleteSourceResponses];

export type GetSourceData = {
    body?: never;
    path: {
        /**
         * The id of the source.
         */
        id: number;
    };
    query?: never;
    url: '/v1/sources/{id}';
};

export type GetSourceErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type GetSourceError = GetSourceErrors[keyof GetSourceErrors];

export type GetSourceResponses = {
    /**
     * The source, without its credentials.
     */
    200: {
        source: Source;
    };
};

export type GetSourceResponse = GetSourceResponses[keyof GetSourceResponses];

export type UpdateSourceData = {
    body: SourceChange;
    path: {
        /**
         * The id of the source.
         */
        id: number;
    };
    query?: never;
    url: '/v1/sources/{id}';
};

export type UpdateSourceErrors = {
    /**
     * Missing scope; API key limited to some accounts
     */
    403: Problem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type UpdateSourceError = UpdateSourceErrors[keyof UpdateSourceErrors];

export type UpdateSourceResponses = {
    /**
     * The source, without its credentials.
     */
    200: {
        source: Source;
    };
};

export type UpdateSourceResponse = UpdateSourceResponses[keyof UpdateSourceResponses];

export type RunSourceData = {
    body?: never;
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the source.
         */
        id: number;
    };
    query?: never;
    url: '/v1/sources/{id}/run';
};

export type RunSourceErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type RunSourceError = RunSourceErrors[keyof RunSourceErrors];

export type RunSourceResponses = {
    /**
     * The source, which will run.
     */
    202: {
        source: Source;
        /**
         * The last run that began before this request; null: none did. The run that was asked for is the first one with a higher id.
         */
        previous_run_id: number | null;
    };
};

export type RunSourceResponse = RunSourceResponses[keyof RunSourceResponses];

export type CollectSourceAgainData = {
    body: {
        /**
         * The withdrawn import whose file is collected again.
         */
        import_id: number | string;
    };
    headers?: {
        /**
         * Makes it safe to repeat the request: within 24 hours, the same request with the same key is carried out once, and repeating it returns the first answer. Use a new key for every new request. See draft-ietf-httpapi-idempotency-key-header.
         */
        'Idempotency-Key'?: string;
    };
    path: {
        /**
         * The id of the source.
         */
        id: number;
    };
    query?: never;
    url: '/v1/sources/{id}/collect-again';
};

export type CollectSourceAgainErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Request in progress; Idempotency key reused; File not collectable again
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

export type CollectSourceAgainError = CollectSourceAgainErrors[keyof CollectSourceAgainErrors];

export type CollectSourceAgainResponses = {
    /**
     * The source, which will run.
     */
    202: {
        source: Source;
        /**
         * The last run that began before this request; null: none did. The run that was asked for is the first one with a higher id.
         */
        previous_run_id: number | null;
    };
};

export type CollectSourceAgainResponse = CollectSourceAgainResponses[keyof CollectSourceAgainResponses];

export type ListSourceRunsData = {
    body?: never;
    path: {
        /**
         * The id of the source.
         */
        id: number;
    };
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
    url: '/v1/sources/{id}/runs';
};

export type ListSourceRunsErrors = {
    /**
     * Missing scope
     */
    403: MissingScopeProblem;
    /**
     * Not found
     */
    404: NotFoundProblem;
    /**
     * Invalid request
     */
    422: InvalidProblem;
    /**
     * Another error. The type says which.
     */
    default: Problem;
};

export type ListSourceRunsError = ListSourceRunsErrors[keyof ListSourceRunsErrors];

export type ListSourceRunsResponses = {
    /**
     * A page of runs.
     */
    200: {
        runs: Array<SourceRun>;
    };
};

export type ListSourceRunsResponse = ListSourceRunsResponses[keyof ListSourceRunsResponses];

export type ReceiveMovementWebhookPayload = {
    /**
     * The direction of the movement.
     */
    dc: 'Debit' | 'Credit';
    /**
     * The bank’s code, or "".
     */
    code: string;
    /**
     * With two fraction digits; three for currencies that have three.
     */
    amount: string;
    /**
     * The balance after the movement, or "".
     */
    balance: string;
    /**
     * ISO 4217.
     */
    currency: string;
    /**
     * As the bank sent it, or "".
     */
    description: string;
    /**
     * The id of the account.
     */
    account_id: number;
    /**
     * The title of the account.
     */
    account: string;
    /**
     * The name of the bank.
     */
    bank: string;
    /**
     * As the bank sent it, or "".
     */
    opponent_id: string;
    /**
     * As the bank sent it, or "".
     */
    opponent_iban: string;
    /**
     * base64 of the lower-case hex of sha256(dc + code + amount + balance + currency + description + API secret). With hash_encoding raw, base64 of the 32 bytes.
     */
    hash: string;
    /**
     * Only for a webhook with body extended: the same as in a listing with fields=extended.
     */
    extended?: {
        /**
         * ISO 4217. The currency of the account, if the bank does not say.
         */
        currency: string;
        /**
         * From when the money counts for interest. null: the bank does not say.
         */
        value_date: string | null;
        /**
         * The payer's reference for the payment. null: the bank does not say.
         */
        end_to_end_id: string | null;
        /**
         * With correct check digits: ISO 11649 (RF…), 27 digits of a QR-bill, or Belgian +++123/4567/89002+++. null: the bank does not say.
         */
        creditor_reference: string | null;
        /**
         * Of a direct debit. null: the bank does not say.
         */
        mandate_reference: string | null;
        /**
         * The kind of transaction, such as PMNT-RCDT-ESCT. null: the bank does not say.
         */
        bank_transaction_code: string | null;
        /**
         * The statement that has brought the movement. null: the bank does not say.
         */
        statement_id: number | null;
        /**
         * Its line in the file of the statement. null: the bank does not say.
         */
        line: number | null;
        /**
         * The movement that this one takes back, if exactly one matches and it is still stored. null: the bank does not say.
         */
        reverses: number | null;
        /**
         * The amount in the currency in which the payment was made. null: the bank does not say.
         */
        original_amount: string | null;
        /**
         * ISO 4217. null: the bank does not say.
         */
        original_currency: string | null;
        /**
         * As the bank has it, with a decimal point. null: the bank does not say.
         */
        exchange_rate: string | null;
        /**
         * Of a batch whose details came after it was stored: the payments that it consists of, at most 1,000 and 256 KiB. A movement without such details has no such member.
         */
        details?: Array<{
            dc: 'Debit' | 'Credit';
            amount: string;
            /**
             * The counterparty. null: the bank does not say.
             */
            name: string | null;
            /**
             * What the payment is for. null: the bank does not say.
             */
            description: string | null;
            /**
             * The account of the counterparty. null: the bank does not say.
             */
            opponent_iban: string | null;
            /**
             * The payer's reference for the payment. null: the bank does not say.
             */
            end_to_end_id: string | null;
            /**
             * With correct check digits. null: the bank does not say.
             */
            creditor_reference: string | null;
        }>;
        /**
         * The batch has more details than are shown here. Otherwise there is no such member.
         */
        details_more?: boolean;
    };
};

export type ReceiveMovementWebhookRequest = {
    body: ReceiveMovementWebhookPayload;
    key: 'movement';
    path?: never;
    query?: never;
};

export type ReceiveOperationalEventWebhookPayload = {
    /**
     * webhook.test: a test notification. New types may be added.
     */
    type: 'webhook.failing' | 'webhook.disabled' | 'webhook.quarantined' | 'webhook.behind' | 'webhook.caught_up' | 'webhook.flapping' | 'webhook.stable' | 'delivery.failed' | 'import.failed' | 'import.stuck' | 'movement.conflict' | 'statement.gap' | 'statement.contradiction' | 'statement.late' | 'source.failing' | 'delivery.stalled' | 'process.killed' | 'webhook.test';
    /**
     * When it was recorded, in UTC.
     */
    timestamp: string;
    /**
     * What has happened. Which of these members there are depends on the type. New ones may be added.
     */
    data: {
        /**
         * The customer that the event concerns. Not in delivery.stalled.
         */
        customer_id?: number;
        /**
         * The webhook that the types webhook.… and delivery.failed are about.
         */
        webhook?: {
            /**
             * The id of the webhook.
             */
            id?: number;
            /**
             * Its title.
             */
            title?: string;
            /**
             * Its event.
             */
            event?: string;
            /**
             * Scheme, host and port of its endpoint.
             */
            origin?: string;
        };
        /**
         * webhook.failing: of the time until the webhook is disabled.
         */
        percent?: 50 | 70 | 90;
        /**
         * webhook.failing: when the first of the failures was.
         */
        failing_since?: string;
        /**
         * webhook.failing: when the webhook is disabled if all further attempts fail.
         */
        disabled_at?: string;
        /**
         * webhook.failing, delivery.failed: what went wrong at the last attempt. Or null.
         */
        last_error?: unknown;
        /**
         * webhook.disabled, webhook.quarantined: why.
         */
        reason?: string;
        /**
         * webhook.behind, webhook.caught_up: pending deliveries.
         */
        pending?: number;
        /**
         * webhook.behind, webhook.caught_up: when the oldest unsent movement was stored. Or null.
         */
        waiting_since?: unknown;
        /**
         * webhook.flapping, webhook.stable: when the endpoint recovered, the newest first.
         */
        recoveries?: Array<string>;
        /**
         * delivery.failed: deliveries that have failed for good since the last event about this webhook.
         */
        failed?: number;
        /**
         * delivery.failed: the newest failed deliveries of the webhook, for GET /v1/deliveries/{id}.
         */
        delivery_ids?: Array<string>;
        /**
         * The import that import.failed, import.stuck and movement.conflict are about.
         */
        import?: {
            /**
             * The id of the import.
             */
            id?: number;
            /**
             * Its format.
             */
            format?: string;
            /**
             * The id of the source that it came from. Or null.
             */
            source_id?: unknown;
            /**
             * Rows of it that are stored.
             */
            rows_stored?: number;
            /**
             * import.failed: why. Or null.
             */
            error?: unknown;
        };
        /**
         * import.stuck: when the import was received.
         */
        received_at?: string;
        /**
         * import.stuck: imports of the customer that are stuck, with this one.
         */
        imports?: number;
        /**
         * movement.conflict: conflicts that its first rows have. Others may follow.
         */
        conflicts?: number;
        /**
         * statement.gap, statement.contradiction: the account.
         */
        account_id?: number;
        /**
         * statement.gap, statement.contradiction: as GET /v1/accounts/{id}/completeness shows it.
         */
        period?: {
            /**
             * The first day, YYYY-MM-DD.
             */
            from?: string;
            /**
             * The last day, YYYY-MM-DD.
             */
            to?: string;
            /**
             * gap or contradiction.
             */
            status?: string;
            /**
             * The balance before it.
             */
            opening_balance?: string;
            /**
             * The balance after it.
             */
            closing_balance?: string;
            /**
             * What is missing between the two, or by how much they contradict each other.
             */
            difference?: string;
        };
        /**
         * The source that source.failing is about.
         */
        source?: {
            /**
             * The id of the source.
             */
            id?: number;
            /**
             * Its title.
             */
            title?: string;
            /**
             * Its kind.
             */
            kind?: string;
        };
        /**
         * source.failing: failed runs in a row.
         */
        consecutive_failures?: number;
        /**
         * source.failing: why the last run failed.
         */
        error?: string;
        /**
         * source.failing: when the source runs again. Or null.
         */
        next_run_at?: unknown;
        /**
         * delivery.stalled: webhooks without progress.
         */
        webhooks?: number;
        /**
         * delivery.stalled: the age of the oldest movement that one of them was not sent.
         */
        oldest_seconds?: number;
        /**
         * Only if this was the last event of its type that was allowed in this hour.
         */
        suppressed_until?: string;
    };
};

export type ReceiveOperationalEventWebhookRequest = {
    body: ReceiveOperationalEventWebhookPayload;
    key: 'operationalEvent';
    path?: never;
    query?: never;
};

export type ReceiveBalanceWebhookPayload = {
    /**
     * webhook.test: a test notification. New types may be added.
     */
    type: 'balance.updated' | 'webhook.test';
    /**
     * When it was recorded, in UTC.
     */
    timestamp: string;
    /**
     * The balance. New members may be added.
     */
    data: {
        /**
         * The account.
         */
        account_id?: number;
        /**
         * Its title.
         */
        account?: string;
        /**
         * Its bank.
         */
        bank?: string;
        /**
         * Its currency.
         */
        currency?: string;
        /**
         * The balance at the end of the day, such as "1250.00".
         */
        balance?: string;
        /**
         * The day, YYYY-MM-DD.
         */
        date?: string;
        /**
         * statement: the closing balance of a statement.
         */
        source?: string;
        /**
         * The import that has brought it.
         */
        import_id?: number;
        /**
         * The statement.
         */
        statement_id?: number;
    };
};

export type ReceiveBalanceWebhookRequest = {
    body: ReceiveBalanceWebhookPayload;
    key: 'balanceUpdated';
    path?: never;
    query?: never;
};
