import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { rebuildRequest } from '../../src/delivery/requests.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { createImporter } from '../../src/intake/importer/importer.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { type Answer, useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer', 'delivery'] });
const receiver = useReceiver();

const IBAN = 'DE89370400440532013000';

/** A camt.053 with these entries. */
const camt = (...entries: string[]) =>
  `<Document><BkToCstmrStmt><GrpHdr/><Stmt><Id>S-1</Id><Acct><Id><IBAN>${IBAN}</IBAN></Id><Ccy>EUR</Ccy></Acct>\n${entries.join(
    '\n',
  )}\n</Stmt></BkToCstmrStmt></Document>`;

interface Parts {
  amount?: string;
  dc?: string;
  date?: string;
  endToEnd?: string;
  reference?: string;
  isReversal?: boolean;
  more?: string;
}

const ntry = ({
  amount = '10.00',
  dc = 'CRDT',
  date = '2026-03-02',
  endToEnd = 'NOTPROVIDED',
  reference,
  isReversal = false,
  more = '',
}: Parts = {}) =>
  `<Ntry><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>${dc}</CdtDbtInd><RvslInd>${isReversal}</RvslInd><Sts>BOOK</Sts>` +
  `<BookgDt><Dt>${date}</Dt></BookgDt><ValDt><Dt>${date}</Dt></ValDt>` +
  `${reference === undefined ? '' : `<AcctSvcrRef>${reference}</AcctSvcrRef>`}` +
  `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn></BkTxCd>` +
  `<NtryDtls><TxDtls><Refs><EndToEndId>${endToEnd}</EndToEndId></Refs>${more}</TxDtls></NtryDtls></Ntry>`;

const FX =
  '<AmtDtls><InstdAmt><Amt Ccy="USD">10.84</Amt><CcyXchg><XchgRate>1.0837</XchgRate></CcyXchg></InstdAmt></AmtDtls>' +
  '<RmtInf><Strd><CdtrRefInf><Ref>RF18539007547034</Ref></CdtrRefInf></Strd></RmtInf>';

/** A customer with the account of the statements. */
async function createReader() {
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key, { iban: IBAN, currency: 'EUR' });
  const list = async (query = '&fields=extended', path = '/v1/transactions'): Promise<Answer> =>
    service.call('GET', `${path}?starts=2026-01-01${query}`, { key });
  return {
    key,
    account,
    list,
    /** Imports a file. @returns the extended fields of all movements. */
    async send(file: string) {
      const { body } = await service.call('POST', '/v1/imports', {
        key,
        body: file,
        type: 'application/octet-stream',
      });
      await until('the import', async () => {
        const found = await service.call('GET', `/v1/imports/${body.import.id}`, { key });
        return found.body.import.status === 'done';
      });
      const { transactions } = (await list('&fields=extended&per_page=1000')).body;
      // biome-ignore lint/suspicious/noExplicitAny: tests look into it.
      return transactions as any[];
    },
  };
}

async function customerOf(accountId: unknown): Promise<string> {
  const [row] = await service.runtime.database.query<{ customer_id: string }[]>(
    'SELECT customer_id FROM accounts WHERE id = ?',
    [accountId],
  );
  return row?.customer_id ?? '';
}

const NOTHING = {
  currency: 'EUR',
  value_date: null,
  end_to_end_id: null,
  creditor_reference: null,
  mandate_reference: null,
  bank_transaction_code: null,
  statement_id: null,
  line: null,
  reverses: null,
  original_amount: null,
  original_currency: null,
  exchange_rate: null,
};

describe('an extended listing', () => {
  it('shows what the bank says of each movement, and a plain listing does not', async () => {
    const { key, account, list, send } = await createReader();
    const [first, reversal] = await send(
      camt(
        ntry({ endToEnd: 'E-1', more: FX }),
        ntry({ endToEnd: 'E-1', dc: 'DBIT', date: '2026-03-05', isReversal: true }),
      ),
    );
    const path = `/v1/accounts/${account.id}`;
    const { statements } = (await service.call('GET', `${path}/statements`, { key })).body;
    expect(first.extended).toEqual({
      currency: 'EUR',
      value_date: '2026-03-02',
      end_to_end_id: 'E-1',
      creditor_reference: 'RF18539007547034',
      mandate_reference: null,
      bank_transaction_code: 'PMNT-RCDT-ESCT',
      statement_id: statements[0].id,
      line: 2,
      reverses: null,
      original_amount: '10.84',
      original_currency: 'USD',
      exchange_rate: '1.0837',
    });
    expect(reversal.extended).toMatchObject({ end_to_end_id: 'E-1', line: 3, reverses: first.id });
    const { extended: _, ...plain } = first;
    expect((await list('')).body.transactions[0]).toEqual(plain);
    expect((await list('&fields=extended', `${path}/transactions`)).body.transactions).toEqual([
      first,
      reversal,
    ]);
    const one = (query: string) => service.call('GET', `/v1/transactions/${first.id}${query}`, { key });
    expect((await one('?fields=extended')).body).toEqual({ transaction: first });
    expect((await one('')).body).toEqual({ transaction: plain });
  });

  it('shows only the currency of the account for a movement that was sent as JSON', async () => {
    const { key, account, list } = await createReader();
    await importMovements(service, key, [movement(account.id)]);
    expect((await list()).body.transactions).toMatchObject([{ extended: NOTHING }]);
    const rows = await service.runtime.database.query(
      'SELECT d.* FROM transaction_details d JOIN transactions t ON t.id = d.transaction_id WHERE t.account_id = ?',
      [account.id],
    );
    expect(rows).toEqual([]);
  });

  it('follows its pages with the cursor of the plain listing', async () => {
    const { key, send, list } = await createReader();
    await send(camt(ntry({ reference: 'A' }), ntry({ reference: 'B' })));
    const page = await list('&fields=extended&per_page=1');
    const next = page.headers.get('link')?.match(/<([^>]+)>/)?.[1] ?? '';
    expect(next).toContain('fields=extended');
    const { pathname, search } = new URL(next, service.url);
    const second = await service.call('GET', pathname + search, { key });
    expect(second.body.transactions).toMatchObject([{ extended: { line: 3 } }]);
  });

  it('refuses any other value of fields', async () => {
    const { list } = await createReader();
    expect((await list('&fields=all')).status).toBe(422);
  });
});

describe('a statement of more than one part', () => {
  it('has one id, which all of its movements name', async () => {
    const { key, account, send, list } = await createReader();
    const entries = Array.from({ length: 1_100 }, (_, number) => ntry({ reference: `R${number}` }));
    const page = await send(camt(...entries));
    const rest = await list(`&fields=extended&per_page=1000&page=2`);
    const { statements } = (await service.call('GET', `/v1/accounts/${account.id}/statements`, { key })).body;
    const ids = [...page, ...rest.body.transactions].map(({ extended }) => extended.statement_id);
    expect(statements).toHaveLength(1);
    expect(ids).toHaveLength(1_100);
    expect(new Set(ids)).toEqual(new Set([statements[0].id]));
  });
});

it('a statement whose import is interrupted has one id, which all of its movements name', async () => {
  const { key, account, list } = await createReader();
  const file = camt(...Array.from({ length: 2_100 }, (_, number) => ntry({ reference: `R${number}` })));
  const { database, log } = service.runtime;
  const { insertId } = await database.query<{ insertId: number }>(
    `INSERT INTO imports (customer_id, api_key_id, format, status)
     SELECT customer_id, MIN(id), 'camt', 'running' FROM api_keys WHERE customer_id = ? GROUP BY customer_id`,
    [await customerOf(account.id)],
  );
  await database.query('INSERT INTO import_parts (import_id, seq, bytes) VALUES (?, 0, ?)', [
    insertId,
    Buffer.from(file),
  ]);
  const importer = createImporter({
    database,
    reader: createStatementFormats([], READ_SETTINGS),
    log,
    wake: async () => {},
  });
  const outcomes: string[] = [];
  while (outcomes.at(-1) !== 'done') outcomes.push(await importer.run(String(insertId), AbortSignal.abort()));
  expect(outcomes).toEqual(['given back', 'given back', 'done']);
  const pages = await Promise.all(
    [1, 2, 3].map((page) => list(`&fields=extended&per_page=1000&page=${page}`)),
  );
  const ids = pages.flatMap(({ body }) => body.transactions).map(({ extended }) => extended.statement_id);
  const { statements } = (await service.call('GET', `/v1/accounts/${account.id}/statements`, { key })).body;
  expect(statements).toHaveLength(1);
  expect(ids).toHaveLength(2_100);
  expect(new Set(ids)).toEqual(new Set([statements[0].id]));
});

describe('a reversal', () => {
  const REVERSAL = { dc: 'DBIT', date: '2026-03-05', isReversal: true };
  it.each<[string, Parts[], Parts, number | null]>([
    [
      'the movement with its end-to-end id',
      [{ endToEnd: 'E-1' }, { endToEnd: 'E-2' }],
      { endToEnd: 'E-2' },
      1,
    ],
    [
      'the movement with its bank reference',
      [{ reference: 'B1' }, { reference: 'B2' }],
      { reference: 'B1' },
      0,
    ],
    [
      'no movement when two match',
      [{ endToEnd: 'E-1' }, { endToEnd: 'E-1', date: '2026-03-03' }],
      { endToEnd: 'E-1' },
      null,
    ],
    ['no movement of another amount', [{ endToEnd: 'E-1', amount: '11.00' }], { endToEnd: 'E-1' }, null],
    ['no movement of the same direction', [{ endToEnd: 'E-1', dc: 'DBIT' }], { endToEnd: 'E-1' }, null],
    ['no later movement', [{ endToEnd: 'E-1', date: '2026-03-06' }], { endToEnd: 'E-1' }, null],
    ['no movement without an id', [{}], {}, null],
  ])('is linked to %s', async (_, earlier, later, expected) => {
    const { send } = await createReader();
    const before = await send(camt(...earlier.map(ntry)));
    const all = await send(camt(ntry({ ...REVERSAL, ...later })));
    expect(all).toHaveLength(earlier.length + 1);
    expect(all.at(-1).extended.reverses).toBe(expected === null ? null : before[expected].id);
  });

  it('in a file that was sent before is not linked again, and an entry that is no reversal never is', async () => {
    const { send } = await createReader();
    const file = camt(ntry({ endToEnd: 'E-1' }), ntry({ endToEnd: 'E-1', ...REVERSAL, isReversal: false }));
    expect((await send(file)).map(({ extended }) => extended.reverses)).toEqual([null, null]);
    expect(await send(file)).toHaveLength(2);
  });
});

describe('a webhook with an extended body', () => {
  it('gets the extended object as the last member, signed, also when an attempt is repeated, and other webhooks do not', async () => {
    const { key, send } = await createReader();
    let attempts = 0;
    receiver.answer('/extended', (_, response) => {
      attempts += 1;
      response.writeHead(attempts === 1 ? 500 : 200).end();
    });
    const extended = await subscribe(service, key, `${receiver.url}/extended`, { body: 'extended' });
    await subscribe(service, key, `${receiver.url}/standard`);
    const [first, reversal] = await send(
      camt(
        ntry({ endToEnd: 'E-1', more: FX }),
        ntry({ endToEnd: 'E-1', dc: 'DBIT', date: '2026-03-05', isReversal: true }),
      ),
    );
    await until('all notifications', async () => {
      return receiver.at('/extended').length === 3 && receiver.at('/standard').length === 2;
    });
    const bodies = new Map<string, Set<string>>();
    for (const { headers, body } of receiver.at('/extended')) {
      expect(() => new Webhook(extended.secret).verify(body, headers)).not.toThrow();
      const id = headers['ledgerbell-transaction-id'] ?? '';
      bodies.set(id, new Set(bodies.get(id)).add(body));
    }
    for (const it of [first, reversal]) {
      const [body = '', ...others] = bodies.get(String(it.id)) ?? [];
      expect(others).toEqual([]);
      const standard = receiver
        .at('/standard')
        .find(({ headers }) => headers['ledgerbell-transaction-id'] === String(it.id));
      expect(body).toBe(`${standard?.body.slice(0, -1)},"extended":${JSON.stringify(it.extended)}}`);
      const key = { webhookId: extended.id, subjectId: String(it.id) };
      const shown = await rebuildRequest(service.runtime.database, service.runtime.secrets, key, null);
      expect(shown?.body).toBe(body.replace(/"hash":"[^"]+"/, '"hash":"•••"'));
    }
  });

  it('gets the extended object in a test notification too', async () => {
    const { key } = await createReader();
    const { id } = await subscribe(service, key, `${receiver.url}/sample`, { body: 'extended' });
    await service.call('POST', `/v1/webhooks/${id}/test`, { key });
    expect(JSON.parse(receiver.at('/sample')[0]?.body ?? '{}')).toMatchObject({ extended: NOTHING });
  });

  it('cannot be changed to form encoding, and a form webhook cannot be extended', async () => {
    const { key } = await createReader();
    const { id } = await subscribe(service, key, `${receiver.url}/form`, { body: 'extended' });
    const change = (fields: object) => service.call('PATCH', `/v1/webhooks/${id}`, { key, body: fields });
    const refused = await change({ encoding: 'form' });
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      [{ path: 'body', message: 'must be "standard" if the encoding is "form": a form has no objects' }],
    ]);
    expect((await change({ encoding: 'form', body: 'standard' })).status).toBe(200);
    expect((await change({ body: 'extended' })).status).toBe(422);
  });
});
