import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { createSigner, movementHash } from '../../../src/delivery/posting/signature.ts';
import { createWebhookSecret } from '../../../src/webhooks/webhooks.ts';

const rent = {
  dc: 'Debit',
  code: 'EFT',
  amount: '1250.00',
  balance: '98750.00',
  currency: 'TRY',
  description: 'Kira ödemesi: Ğüşıöç İstanbul',
};
const apiSecret = 's3cr3t-ğ';

describe('the hash of a movement', () => {
  // By hand, in a UTF-8 shell:
  // printf '%s' 'DebitEFT1250.0098750.00TRYKira ödemesi: Ğüşıöç İstanbuls3cr3t-ğ' | sha256sum
  const sha256sum = '6fe885aa9a413ea71faa0dd90816e3269afc3187aef6b5a42fd6b0b65821aea9';

  it('is the base64 of what sha256sum prints for the fields and the API secret', () => {
    expect(Buffer.from(movementHash(rent, apiSecret, 'hex'), 'base64').toString('ascii')).toBe(sha256sum);
  });

  it('is the base64 of the same 32 bytes when raw is asked for', () => {
    expect(Buffer.from(movementHash(rent, apiSecret, 'raw'), 'base64').toString('hex')).toBe(sha256sum);
  });

  it.each([
    rent,
    { ...rent, dc: 'Credit', description: 'çek 🎂 "iade"\n\\' },
    { ...rent, code: '', balance: '', description: '' },
  ])('agrees with WebCrypto in case %#', async (fields) => {
    const text = [
      fields.dc,
      fields.code,
      fields.amount,
      fields.balance,
      fields.currency,
      fields.description,
    ].join('');
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text + apiSecret));
    expect(Buffer.from(movementHash(fields, apiSecret, 'raw'), 'base64')).toEqual(Buffer.from(digest));
  });

  it('decodes from base64 to 64 lower-case hexadecimal digits', () => {
    expect(atob(movementHash(rent, apiSecret, 'hex'))).toMatch(/^[0-9a-f]{64}$/);
  });

  it('treats null as the empty text that stands in the body', () => {
    const blank = { ...rent, code: '', balance: '', description: '' };
    const absent = { ...rent, code: null, balance: null, description: null };
    expect(movementHash(absent, apiSecret, 'hex')).toBe(movementHash(blank, apiSecret, 'hex'));
  });

  it.each(['dc', 'code', 'amount', 'balance', 'currency', 'description'] as const)(
    'changes with %s',
    (field) => {
      const changed = { ...rent, [field]: `${rent[field]}x` };
      expect(movementHash(changed, apiSecret, 'hex')).not.toBe(movementHash(rent, apiSecret, 'hex'));
    },
  );
});

describe('the signature of a notification', () => {
  const body = JSON.stringify({ description: 'Maaş ödemesi – Ekim 🎂', amount: '12500.00' });
  const now = Math.floor(Date.now() / 1000);

  function headers(signature: string, id = 'msg_17') {
    return { 'webhook-id': id, 'webhook-timestamp': String(now), 'webhook-signature': signature };
  }

  it('is accepted by an independent verifier', () => {
    const secret = createWebhookSecret();
    const signature = createSigner([secret])('msg_17', now, body);
    expect(new Webhook(secret).verify(body, headers(signature))).toEqual(JSON.parse(body));
  });

  it('is accepted with the old and with the new secret while both secrets sign', () => {
    const [old, fresh] = [createWebhookSecret(), createWebhookSecret()];
    const signature = createSigner([fresh, old])('msg_17', now, body);
    expect(signature).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
    for (const secret of [old, fresh]) {
      expect(new Webhook(secret).verify(body, headers(signature))).toEqual(JSON.parse(body));
    }
  });

  it('is refused with another secret, another body or another id', () => {
    const secret = createWebhookSecret();
    const signature = createSigner([secret])('msg_17', now, body);
    expect(() => new Webhook(createWebhookSecret()).verify(body, headers(signature))).toThrow('No matching');
    expect(() => new Webhook(secret).verify(`${body} `, headers(signature))).toThrow('No matching');
    expect(() => new Webhook(secret).verify(body, headers(signature, 'msg_18'))).toThrow('No matching');
  });
});

describe('a webhook secret', () => {
  it('is whsec_ and the base64 of 32 random bytes', () => {
    const secret = createWebhookSecret();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(createWebhookSecret()).not.toBe(secret);
  });

  const encoded = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64');

  it.each([24, 32, 64])('of %d bytes is accepted', (bytes) => {
    const secret = `whsec_${encoded(bytes)}`;
    const now = new Date();
    const signature = createSigner([secret])('msg_1', Math.floor(now.getTime() / 1000), '{}');
    expect(signature).toBe(new Webhook(secret).sign('msg_1', now, '{}'));
  });

  it.each([
    ['without its prefix', encoded(32)],
    ['with nothing after the prefix', 'whsec_'],
    ['of 23 bytes', `whsec_${encoded(23)}`],
    ['of 65 bytes', `whsec_${encoded(65)}`],
    ['in base64url', `whsec_${Buffer.alloc(32, 255).toString('base64url')}`],
    ['with a space', `whsec_ ${encoded(32)}`],
  ])('is refused without being repeated in the message: %s', (_kind, secret) => {
    expect(() => createSigner([createWebhookSecret(), secret])).toThrow(
      /^Webhook secret number 2 is not "whsec_" followed by the base64 of 24 to 64 bytes\.$/,
    );
  });

  it('is required for signing', () => {
    expect(() => createSigner([])).toThrow('at least one secret');
  });
});
