import { zipSync } from 'fflate';
import { expect, it } from 'vitest';
import { createFolderCustomer, IBAN as OWN, useFolderService } from '../sources/folder-source.ts';
import { header, joinLines, movement, newBalance, oldBalance, trailer } from '../statements/coda/records.ts';
import { createAccount, importDone } from '../support/movements.ts';

/** A statement must not be stored for an account that it contradicts, whatever its format and its way in. */

const { service, sourcesDir } = useFolderService();

const OTHER = 'DE89370400440532013000';
const FOREIGN = 'CH9300762011623852957';

/** A statement with one entry in each format, about an account and in a currency. */
const FILES: Record<string, (account: string, currency: string) => string> = {
  mt940: (account, currency) =>
    [
      ':20:X',
      `:25:${account}`,
      ':28C:1/1',
      `:60F:C260301${currency}100,00`,
      ':61:2603020302C5,00NTRFNONREF//R1',
      `:62F:C260302${currency}105,00`,
      '',
    ].join('\r\n'),
  mt942: (account, currency) =>
    [
      ':20:X',
      `:25:${account}`,
      ':28C:1/1',
      `:34F:${currency}0,`,
      ':13D:2603021200+0300',
      ':61:2603020302C5,00NTRFNONREF//R1',
      '',
    ].join('\r\n'),
  camt: (account, currency) =>
    `<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>M</MsgId>
    <CreDtTm>2026-03-02T20:00:00</CreDtTm></GrpHdr><Stmt><Id>S</Id><Acct><Id>${
      account.length > 20 ? `<IBAN>${account}</IBAN>` : `<Othr><Id>${account}</Id></Othr>`
    }</Id><Ccy>${currency}</Ccy></Acct><Ntry><Amt Ccy="${currency}">5.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
    <BookgDt><Dt>2026-03-02</Dt></BookgDt><AcctSvcrRef>R1</AcctSvcrRef></Ntry></Stmt></BkToCstmrStmt></Document>`,
  ofx: (account, currency) =>
    `OFXHEADER:100\nDATA:OFXSGML\nVERSION:102\n\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>${currency}
<BANKACCTFROM><BANKID>1<ACCTID>${account}<ACCTTYPE>CHECKING</BANKACCTFROM><BANKTRANLIST><STMTTRN><TRNTYPE>CREDIT<DTPOSTED>20260302
<TRNAMT>5.00<FITID>R1<NAME>X</STMTTRN></BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>`,
  bai2: (account, currency) =>
    `01,B,C,260302,1200,1,80,1,2/\n02,B,C,1,260302,1200,${currency},2/\n03,${account},${currency},010,10000,,,015,10500,,/\n16,195,500,0,R1,,X/\n49,21000,3/\n98,21000,1,5/\n99,21000,1,7/\n`,
  coda: (account, currency) => {
    const named = account.padEnd(34) + currency;
    return joinLines([
      ...[header(), oldBalance(100_000n, named, account.length > 20 ? '3' : '1'), movement(5_000n)],
      ...[newBalance(105_000n, named), trailer(3, 0n, 5_000n)],
    ]);
  },
};

async function newCustomer() {
  const folder = await createFolderCustomer(service, sourcesDir);
  const { key } = folder;
  const own = { id: Number(folder.accountId) };
  const other = await createAccount(service, key, { iban: OTHER, currency: 'EUR' });
  const send = (file: string | Uint8Array, query: string) =>
    service.call('POST', `/v1/imports?${query}`, {
      key,
      body: Buffer.from(file as string),
      type: 'application/octet-stream',
    });
  /** Tries a file as a dry run, in a zip and as it is, which must give the same: accepted rows, reasons of rejection, and warnings. */
  async function tryAll(file: string, query: string) {
    const dry = await send(file, `dry_run=true&${query}`);
    expect(dry.status).toBe(200);
    const said = [outcomeOf(dry.body.dry_run, dry.body)];
    for (const body of [zipSync({ 'a.txt': Buffer.from(file) }), Buffer.from(file)]) {
      const accepted = await send(body, query);
      const ended = await importDone(service, key, accepted.body.import.id);
      const { body: reasons } = await service.call('GET', `/v1/imports/${ended.id}/errors`, { key });
      said.push(outcomeOf(ended, reasons));
    }
    expect(said[1]).toEqual(said[0]);
    expect(said[2]).toEqual(said[0]);
    return said[0];
  }
  return { ...folder, own, other, send, tryAll };
}

/** Of a zip, messages begin with the name of the file within. */
const withoutFile = (message: string) => message.replace('a.txt: ', '');

const outcomeOf = (
  { inserted, duplicates }: { inserted: number; duplicates: number },
  { errors, warnings }: { errors: { message: string }[]; warnings: { message: string }[] },
) => ({
  // The zip, or a file before, may have stored the row already.
  accepted: inserted + duplicates,
  errors: errors.map(({ message }) => withoutFile(message)).filter((it) => it !== ''),
  warnings: warnings.map(({ message }) => withoutFile(message)),
});

it.each(Object.keys(FILES))(
  'a statement in %s is rejected whose currency is not its account’s',
  async (format) => {
    const file = FILES[format] as (typeof FILES)[string];
    const { tryAll, own } = await newCustomer();
    const errors = [`the statement is in EUR, and account ${own.id} is kept in TRY`];
    expect(await tryAll(file(OWN, 'EUR'), `account_id=${own.id}`)).toEqual({
      accepted: 0,
      errors,
      warnings: [],
    });
    expect(await tryAll(file(OWN, 'EUR'), `account_id=${own.id}&force_account=true`)).toMatchObject({
      errors,
    });
    expect(await tryAll(file(OWN, 'EUR'), '')).toMatchObject({ accepted: 0, errors });
  },
);

it.each(Object.keys(FILES))(
  'a statement in %s is rejected that names another account than account_id',
  async (format) => {
    const file = FILES[format] as (typeof FILES)[string];
    const { tryAll, own, other } = await newCustomer();
    const named = `account_id=${own.id}`;
    expect(await tryAll(file(FOREIGN, 'TRY'), named)).toEqual({
      accepted: 0,
      errors: [
        `the statement names ${FOREIGN}, which is not the IBAN of account ${own.id}: leave the account out, or send force_account=true with the file if it is meant`,
      ],
      warnings: [],
    });
    const isOther = `the statement names ${OTHER}, which is account ${other.id}, not account ${own.id}`;
    expect(await tryAll(file(OTHER, 'TRY'), named)).toMatchObject({
      accepted: 0,
      errors: [expect.stringContaining(isOther)],
    });
    expect(await tryAll(file(OTHER, 'TRY'), `${named}&force_account=true`)).toEqual({
      accepted: 1,
      errors: [],
      warnings: [
        `The account may be wrong: ${isOther}. It was stored for account ${own.id}, as was asked for.`,
      ],
    });
  },
);

it.each(Object.keys(FILES))(
  'a statement in %s with the number within the account’s IBAN, or one that no account has, contradicts nothing',
  async (format) => {
    const file = FILES[format] as (typeof FILES)[string];
    const { tryAll, own } = await newCustomer();
    for (const number of ['0519786457841326', '7788991'])
      expect(await tryAll(file(number, 'TRY'), `account_id=${own.id}`)).toEqual({
        accepted: 1,
        errors: [],
        warnings: [],
      });
  },
);

it('a source with an account rejects a statement of another account, and stores it with force_account', async () => {
  const { own, drop, run, createSource, call } = await newCustomer();
  const imported = async () => {
    const [first] = (await run(source)).imports;
    return (await call('GET', `/v1/imports/${first?.id}`)).body.import;
  };
  const file = FILES.mt940?.(FOREIGN, 'TRY') ?? '';
  const source = await createSource({ account_id: own.id });
  await drop('one.sta', file);
  expect(await imported()).toMatchObject({ inserted: 0, rejected: 1 });
  expect((await call('PATCH', `/v1/sources/${source}`, { force_account: true })).status).toBe(200);
  await drop('two.sta', file);
  expect(await imported()).toMatchObject({ inserted: 1, rejected: 0, warnings: 1 });
});

it('a BAI2 file that says no currency is in that of its account', async () => {
  const { tryAll, own } = await newCustomer();
  const file = FILES.bai2?.(OWN, '') ?? '';
  expect(await tryAll(file, `account_id=${own.id}`)).toEqual({ accepted: 1, errors: [], warnings: [] });
});

it('force_account without account_id is refused', async () => {
  const { send } = await newCustomer();
  expect(await send('x', 'force_account=true')).toMatchObject({
    status: 422,
    body: { errors: [{ path: 'force_account', message: 'needs account_id' }] },
  });
});

it('a BAI2 file that says no currency goes to the account in US dollars, or to none of several', async () => {
  const { key, send } = await newCustomer();
  const create = (currency: string, number: string) => createAccount(service, key, { currency, number });
  await create('EUR', '12345678');
  const dollars = await create('USD', '12345678');
  await create('EUR', '87654321');
  await create('CHF', '87654321');
  const rowsOf = async (number: string) => (await send(FILES.bai2?.(number, '') ?? '', 'dry_run=true')).body;
  expect((await rowsOf('12345678')).statements).toMatchObject([{ account_id: Number(dollars.id) }]);
  expect((await rowsOf('87654321')).errors).toMatchObject([
    {
      message: expect.stringContaining(
        'the statement does not say its currency, and you have accounts of several currencies with its number',
      ),
    },
  ]);
});
