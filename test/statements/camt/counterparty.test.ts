import { describe, expect, it } from 'vitest';
import { entries, ntry, parse, statement } from './events.ts';

const OWN = 'DE89370400440532013000';
const OTHER = 'NL91ABNA0417164300';
const ACCOUNT = `<Acct><Id><IBAN>${OWN}</IBAN></Id><Ownr><Nm>Acme  GmbH</Nm></Ownr></Acct>`;

const iban = (side: string, text: string) => `<${side}Acct><Id><IBAN>${text}</IBAN></Id></${side}Acct>`;
const debtor = (name: string) => `<Dbtr><Nm>${name}</Nm></Dbtr>`;
const creditor = (name: string) => `<Cdtr><Nm>${name}</Nm></Cdtr>`;

async function counterparty(
  dc: 'CRDT' | 'DBIT',
  parties: string,
  { reversal = '', returned = '', account = ACCOUNT } = {},
) {
  const details = `<TxDtls><RltdPties>${parties}</RltdPties>${returned}</TxDtls>`;
  const events = await parse(
    statement(account + ntry({ dc: `<CdtDbtInd>${dc}</CdtDbtInd>`, reversal, details })),
  );
  const [entry] = entries(events);
  return { name: entry?.name, id: entry?.opponentId, iban: entry?.opponentIban };
}

const REVERSAL = { reversal: '<RvslInd>true</RvslInd>' };
const RETURN = { returned: '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>' };

describe('the counterparty of a CAMT entry', () => {
  it('is the debtor of a credit and the creditor of a debit', async () => {
    const parties = debtor('Ada') + iban('Dbtr', OTHER) + creditor('Bo');
    expect(await counterparty('CRDT', parties)).toEqual({ name: 'Ada', id: null, iban: OTHER });
    expect(await counterparty('DBIT', parties)).toEqual({ name: 'Bo', id: null, iban: null });
  });

  it.each([
    [
      'nested in Pty',
      '<Dbtr><Pty><Nm>Ada</Nm><Id><PrvtId><Othr><Id>12</Id></Othr></PrvtId></Id></Pty></Dbtr>',
      'Ada',
      '12',
    ],
    [
      'of version 02',
      '<Dbtr><Nm>Ada</Nm><Id><OrgId><Othr><Id>12</Id></Othr></OrgId></Id></Dbtr>',
      'Ada',
      '12',
    ],
    [
      'with several ids',
      '<Dbtr><Id><OrgId><Othr><Id>1</Id></Othr><Othr><Id>2</Id></Othr></OrgId></Id></Dbtr>',
      null,
      '1',
    ],
    ['that is a bank', '<Dbtr><Agt><FinInstnId><Nm>A Bank</Nm></FinInstnId></Agt></Dbtr>', 'A Bank', null],
    ['that is only the ultimate party', '<UltmtDbtr><Nm>Ada</Nm></UltmtDbtr>', 'Ada', null],
    ['beside an ultimate party', '<UltmtDbtr><Nm>Bo</Nm></UltmtDbtr><Dbtr><Nm>Ada</Nm></Dbtr>', 'Ada', null],
    [
      'with an account number that is not an IBAN',
      '<Dbtr><Nm>Ada</Nm></Dbtr><DbtrAcct><Id><Othr><Id>77-1</Id></Othr></Id></DbtrAcct>',
      'Ada',
      '77-1',
    ],
  ])('is read from a party %s', async (_, parties, name, id) => {
    expect(await counterparty('CRDT', parties)).toEqual({ name, id, iban: null });
  });

  it('has the IBAN of the file, without spaces', async () => {
    const parties = iban('Dbtr', 'NL00 XXXX 04');
    expect(await counterparty('CRDT', parties)).toEqual({ name: null, id: null, iban: 'NL00XXXX04' });
  });

  it("is never the holder of the statement's account", async () => {
    const parties = debtor('Acme') + iban('Dbtr', OWN) + creditor('Bo');
    expect(await counterparty('CRDT', parties)).toMatchObject({ name: 'Bo' });
  });

  it('may be the account holder when the account is a different one', async () => {
    const parties = debtor('Acme GmbH') + iban('Dbtr', OTHER);
    expect(await counterparty('CRDT', parties)).toMatchObject({ name: 'Acme GmbH', iban: OTHER });
  });

  // Acme has sent money to Bo, and gets it back.
  it.each([
    ['says whose account it is', debtor('Acme') + iban('Dbtr', OWN) + creditor('Bo') + iban('Cdtr', OTHER)],
    ['names the creditor only', creditor('Bo')],
    ['names the holder of the account as debtor', debtor('ACME GmbH') + creditor('Bo')],
    ['has an account for the creditor only', debtor('A. C. M. E.') + creditor('Bo') + iban('Cdtr', OTHER)],
  ])('is the creditor for a reversed debit when the file %s', async (_, parties) => {
    expect(await counterparty('CRDT', parties, REVERSAL)).toMatchObject({ name: 'Bo' });
    expect(await counterparty('CRDT', parties, RETURN)).toMatchObject({ name: 'Bo' });
  });

  it('is the usual party for a reversal when the file gives only names', async () => {
    const parties = debtor('Ada') + creditor('Bo');
    expect(await counterparty('CRDT', parties, REVERSAL)).toMatchObject({ name: 'Ada' });
    expect(await counterparty('DBIT', parties, REVERSAL)).toMatchObject({ name: 'Bo' });
  });

  it('is not taken from the holder’s side when the payment is not a reversal', async () => {
    expect(await counterparty('CRDT', creditor('Acme'))).toEqual({ name: null, id: null, iban: null });
  });

  it('is found for accounts without an IBAN', async () => {
    const account = '<Acct><Id><Othr><Id>12345</Id></Othr></Id></Acct>';
    const own = '<DbtrAcct><Id><Othr><Id>12345</Id></Othr></Id></DbtrAcct>';
    expect(await counterparty('CRDT', debtor('Acme') + own + creditor('Bo'), { account })).toMatchObject({
      name: 'Bo',
    });
  });
});
