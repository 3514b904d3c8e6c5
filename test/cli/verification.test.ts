import { createHash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import {
  checkNotification,
  checkPost,
  isSecret,
  readFields,
  verifySignature,
} from '../../src/cli/verification.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const otherSecret = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
const apiSecret = 's3cr3t-ğ';
const now = Date.parse('2026-01-31T12:00:00Z');

const fields = {
  dc: 'Debit',
  code: 'EFT',
  amount: '1250.00',
  balance: '',
  currency: 'TRY',
  description: 'Kira ödemesi: Ğüşıöç İstanbul & "iade" 🎂',
  account_id: '17',
  account: 'Ana Hesap',
  bank: 'Türkiye İş Bankası',
  opponent_id: ' 1234567890',
  opponent_iban: '',
};
const hex = createHash('sha256')
  .update(`DebitEFT1250.00TRY${fields.description}${apiSecret}`, 'utf8')
  .digest('hex');
const hashed = { ...fields, hash: Buffer.from(hex).toString('base64') };
const json = JSON.stringify(hashed);

/** Signed with the npm package standardwebhooks, `age` seconds before `now`. */
function signed(body: string, { age = 0, by = [secret], type = 'application/json' } = {}) {
  const at = new Date(now - age * 1_000);
  return {
    'content-type': type,
    'webhook-id': 'msg_17',
    'webhook-timestamp': String(at.getTime() / 1_000),
    'webhook-signature': by.map((key) => new Webhook(key).sign('msg_17', at, body)).join(' '),
  };
}

const check = (body: string, headers = signed(body), secrets: { apiSecret?: string } = { apiSecret }) =>
  checkNotification(headers, Buffer.from(body), { secret, ...secrets }, now);

describe('a batch', () => {
  const checkBatch = (value: unknown, headers?: ReturnType<typeof signed>) => {
    const body = JSON.stringify(value);
    return checkPost(headers ?? signed(body), Buffer.from(body), { secret, apiSecret }, now);
  };
  const own = JSON.parse(json);

  it('has a result for each event, with its id, fields and hash', () => {
    const event = { type: 'webhook.disabled', timestamp: '2026-11-22T10:31:04.120482Z', data: { id: 1 } };
    const batch = {
      batch: 'msg_17',
      events: [
        { id: 'msg_3-7', body: own },
        { id: 'msg_3-8', body: { ...own, amount: '1.00' } },
        { id: 'msg_3-9', body: event },
        { id: 'msg_3-10', body: [] },
      ],
    };
    expect(checkBatch(batch)).toEqual([
      { id: 'msg_3-7', fields: hashed, event: null, problem: null, hash: 'verified' },
      expect.objectContaining({ id: 'msg_3-8', hash: 'wrong', problem: expect.stringContaining('hash') }),
      { id: 'msg_3-9', fields: {}, event, problem: null, hash: 'not checked' },
      expect.objectContaining({ id: 'msg_3-10', problem: 'The body is neither JSON nor a form.' }),
    ]);
    expect(checkBatch(batch, signed('another'))).toEqual([
      expect.objectContaining({ id: 'msg_17', problem: expect.stringContaining('No signature matches') }),
    ]);
  });

  it('is otherwise a notification of one event', () => {
    expect(checkBatch(own)).toEqual([check(json)]);
    expect(checkBatch({ batch: 'b', events: [{ body: own }] })).toMatchObject([
      { problem: 'The body is neither JSON nor a form.' },
    ]);
  });
});

describe('a notification', () => {
  it('is genuine when an independent signer signed it and the hash is that of its fields', () => {
    expect(check(json)).toEqual({
      id: 'msg_17',
      fields: hashed,
      event: null,
      problem: null,
      hash: 'verified',
    });
  });

  it('is also read with an extended body', () => {
    const body = JSON.stringify({ ...hashed, extended: { currency: 'TRY', value_date: null } });
    expect(check(body)).toMatchObject({ fields: hashed, problem: null, hash: 'verified' });
  });

  it('is also read and verified as a form, with Turkish letters and a leading space', () => {
    const body = new URLSearchParams(hashed).toString();
    const headers = signed(body, { type: 'application/x-www-form-urlencoded' });
    expect(check(body, headers)).toEqual({
      id: 'msg_17',
      fields: hashed,
      event: null,
      problem: null,
      hash: 'verified',
    });
  });

  it('may carry the hash of the bytes instead of the hexadecimal hash', () => {
    const raw = JSON.stringify({ ...fields, hash: Buffer.from(hex, 'hex').toString('base64') });
    expect(check(raw).hash).toBe('verified');
  });

  it('is genuine without a check of the hash when the API secret is not known', () => {
    expect(check(json, signed(json), {})).toMatchObject({ problem: null, hash: 'not checked' });
  });

  it.each(['dc', 'code', 'amount', 'balance', 'currency', 'description', 'hash'] as const)(
    'is refused when a signer has changed %s',
    (field) => {
      const body = JSON.stringify({ ...hashed, [field]: `${hashed[field]}1` });
      expect(check(body)).toMatchObject({ problem: expect.stringContaining('hash'), hash: 'wrong' });
    },
  );

  it.each([
    ['an array', '[]'],
    ['a number among its fields', '{"amount":1250}'],
    ['no JSON', 'amount=1'],
    ['null', 'null'],
  ])('is refused when its signed body is %s', (_kind, body) => {
    expect(check(body)).toMatchObject({ fields: {}, problem: 'The body is neither JSON nor a form.' });
  });

  it('cannot be read when it is not UTF-8', () => {
    expect(readFields('application/json', Buffer.from([0x22, 0xff, 0x22]))).toBeNull();
  });
});

describe('a signature', () => {
  const verify = (headers: Record<string, string | undefined>, body = json) =>
    verifySignature(headers, Buffer.from(body), secret, now);

  it('is accepted as the first or the second of two signatures', () => {
    expect(verify(signed(json, { by: [secret, otherSecret] }))).toBeNull();
    expect(verify(signed(json, { by: [otherSecret, secret] }))).toBeNull();
  });

  it('is refused for another body, another id or another secret', () => {
    const noMatch = 'No signature matches: the secret is another, or the body was changed.';
    expect(verify(signed(json), `${json} `)).toBe(noMatch);
    expect(verify({ ...signed(json), 'webhook-id': 'msg_18' })).toBe(noMatch);
    expect(verify(signed(json, { by: [otherSecret] }))).toBe(noMatch);
  });

  it('is refused under another version, or when cut short', () => {
    const { 'webhook-signature': signature, ...headers } = signed(json);
    expect(verify({ ...headers, 'webhook-signature': signature.replace('v1,', 'v2,') })).toMatch(
      'No signature',
    );
    expect(verify({ ...headers, 'webhook-signature': signature.slice(0, -4) })).toMatch('No signature');
    expect(verify({ ...headers, 'webhook-signature': 'v1,' })).toMatch('No signature');
  });

  it.each([
    [300, null],
    [301, 'webhook-timestamp is 301 s old; at most 300 s are accepted.'],
    [-300, null],
    [-301, 'webhook-timestamp is 301 s in the future; at most 300 s are accepted.'],
  ])('made %d s ago gives the problem %j', (age, problem) => {
    expect(verify(signed(json, { age }))).toBe(problem);
  });

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'is reported missing without %s',
    (name) => {
      expect(verify({ ...signed(json), [name]: undefined })).toMatch('It is not signed');
    },
  );

  it('requires a timestamp in whole seconds', () => {
    expect(verify({ ...signed(json), 'webhook-timestamp': '2026-01-31' })).toMatch('number of seconds');
  });
});

describe('a webhook secret', () => {
  it.each([
    [secret, true],
    [`whsec_${Buffer.alloc(24, 1).toString('base64')}`, true],
    [secret.slice(6), false],
    ['whsec_', false],
    ['whsec_short', false],
    [`${secret}\n`, false],
  ])('of the form %j is valid: %s', (text, valid) => {
    expect(isSecret(text)).toBe(valid);
  });
});
