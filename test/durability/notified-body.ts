import { createHash } from 'node:crypto';

/** The body of a notification in JSON, as far as its hash needs it. */
export interface NotifiedBody {
  dc: string;
  code: string;
  amount: string;
  balance: string;
  currency: string;
  description: string;
  hash: string;
}

/** The hash of a notification. Follows docs/receiving/hash.md and uses none of the product's code. */
export function hashOf(body: NotifiedBody, apiSecret: string): string {
  const { dc, code, amount, balance, currency, description } = body;
  const text = `${dc}${code}${amount}${balance}${currency}${description}${apiSecret}`;
  return Buffer.from(createHash('sha256').update(text).digest('hex')).toString('base64');
}
