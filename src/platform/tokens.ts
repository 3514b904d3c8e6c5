import { createHash, randomBytes } from 'node:crypto';

/** The form of operators' tokens, `lbop_` and 32 random bytes in base64url, and the digest of secrets. */

export const OPERATOR_TOKEN_PREFIX = 'lbop_';

export const createOperatorToken = (): string =>
  `${OPERATOR_TOKEN_PREFIX}${randomBytes(32).toString('base64url')}`;

/** Whether a text has the form of an operator's token. */
export const isOperatorToken = (text: string): boolean => /^lbop_[A-Za-z0-9_-]{43}$/.test(text);

/** The SHA-256 by which API keys, tokens and passwords are stored or compared. */
export const digestOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();
