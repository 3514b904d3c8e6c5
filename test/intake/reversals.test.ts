import { describe, expect, it } from 'vitest';
import { useService } from '../support/service.ts';
import { createStatementCustomer } from './statement-files.ts';

const service = useService({ roles: ['api'] });

const IBAN = 'TR330006100519786457841326';

interface Options {
  /** As the file has it. */
  direction?: 'CRDT' | 'DBIT';
  reference?: string;
  /** The closing balance; null: a camt.054, which has no balances. */
  closing: number | null;
  /** An ordinary debit of the same day, amount and text, beside the reversal or alone. */
  original?: 'beside' | 'alone';
}

const balanceOf = (code: string, amount: number) =>
  `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="TRY">${Math.abs(amount)}.00</Amt><CdtDbtInd>${amount < 0 ? 'DBIT' : 'CRDT'}</CdtDbtInd><Dt><Dt>2026-03-02</Dt></Dt></Bal>`;

/** A file with a reversal over 50. */
function camt({ direction = 'DBIT', reference = 'R2', closing, original }: Options): string {
  const entry = (dc: string, ref: string, isReversal: boolean) =>
    `<Ntry><Amt Ccy="TRY">50.00</Amt><CdtDbtInd>${dc}</CdtDbtInd>${isReversal ? '<RvslInd>true</RvslInd>' : ''}<Sts>BOOK</Sts>` +
    `<BookgDt><Dt>2026-03-02</Dt></BookgDt>${ref === '' ? '' : `<AcctSvcrRef>${ref}</AcctSvcrRef>`}<BkTxCd><Prtry><Cd>X</Cd></Prtry></BkTxCd>` +
    '<NtryDtls><TxDtls><RmtInf><Ustrd>Abschlag</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>';
  const [version, root, element] =
    closing === null ? ['054', 'BkToCstmrDbtCdtNtfctn', 'Ntfctn'] : ['053', 'BkToCstmrStmt', 'Stmt'];
  return (
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.${version}.001.08"><${root}><GrpHdr><MsgId>M</MsgId></GrpHdr><${element}><Id>S</Id>` +
    `<Acct><Id><IBAN>${IBAN}</IBAN></Id></Acct>${closing === null ? '' : balanceOf('OPBD', 200) + balanceOf('CLBD', closing)}` +
    `${original === undefined ? '' : entry('DBIT', 'R1', false)}${original === 'alone' ? '' : entry(direction, reference, true)}</${element}></${root}></Document>`
  );
}

async function send(...files: Options[]) {
  const customer = await createStatementCustomer(service);
  const imports = [];
  for (const file of files) imports.push(await customer.importFile(camt(file)));
  const { body } = await service.call('GET', '/v1/transactions?starts=2026-01-01', { key: customer.key });
  const rows = body.transactions.map(({ dc, amount }: { dc: string; amount: string }) => `${dc} ${amount}`);
  return { imports, rows: rows.sort() };
}

describe('a reversal that its statement proves to be of the other direction', () => {
  it.each([
    ['by its reference', 'R2'],
    ['by its text', ''],
  ])('is stored once, and known %s in a file without balances that comes later', async (_, reference) => {
    const { imports, rows } = await send({ closing: 250, reference }, { closing: null, reference });
    expect(rows).toEqual(['Credit 50.00']);
    expect(imports).toMatchObject([
      { inserted: 1, warnings: 1 },
      { inserted: 0, duplicates: 1 },
    ]);
  });

  it('is known beside the entry that it takes back', async () => {
    const file = { original: 'beside', reference: 'R2' } as const;
    const { imports, rows } = await send({ ...file, closing: 200 }, { ...file, closing: null });
    expect(rows).toEqual(['Credit 50.00', 'Debit 50.00']);
    expect(imports).toMatchObject([{ inserted: 2 }, { inserted: 0, duplicates: 2 }]);
  });

  it('is known if a file without balances has brought it before, and a warning says that the stored direction is wrong', async () => {
    const { imports, rows } = await send({ closing: null }, { closing: 250 });
    expect(rows).toEqual(['Debit 50.00']);
    expect(imports).toMatchObject([{ inserted: 1 }, { inserted: 0, duplicates: 1 }]);
    expect(imports[1]?.warnings).toBeGreaterThan(0);
  });

  it.each(['', 'R1', 'R3'])(
    'is new beside the stored entry that it takes back, with the reference "%s"',
    async (reference) => {
      const { rows } = await send(
        { original: 'alone', closing: null },
        { direction: 'CRDT', reference, closing: null },
      );
      expect(rows).toEqual(['Credit 50.00', 'Debit 50.00']);
    },
  );
});
