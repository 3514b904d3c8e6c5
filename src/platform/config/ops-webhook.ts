import * as v from 'valibot';
import { ConfigError } from './config-error.ts';

/** The URL to which the operator's operational events are sent, and the secret that signs them. */
export interface OpsWebhook {
  url: string;
  secret: string;
}

const URL_RULE = 'must be an http or https URL of at most 2048 characters without a user name';
const SECRET_RULE =
  'must be "whsec_" followed by the base64 of 24 to 64 bytes (make one with: echo "whsec_$(openssl rand -base64 32)")';

/** Checks the form of Standard Webhooks, in which the same bytes can be written in only one way. */
function isSecret(text: string): boolean {
  const encoded = text.startsWith('whsec_') ? text.slice('whsec_'.length) : '';
  const key = Buffer.from(encoded, 'base64');
  return key.toString('base64') === encoded && key.length >= 24 && key.length <= 64;
}

export const OPS_WEBHOOK_VARIABLES = {
  OPS_WEBHOOK_URL: v.optional(
    v.pipe(
      v.string(),
      v.url(URL_RULE),
      v.regex(/^https?:\/\/[^@]+$/i, URL_RULE),
      v.maxLength(2_048, URL_RULE),
    ),
  ),
  OPS_WEBHOOK_SECRET: v.optional(v.pipe(v.string(), v.check(isSecret, SECRET_RULE))),
};

/** @throws {ConfigError} when one of the two is missing. */
export function readOpsWebhook(env: {
  OPS_WEBHOOK_URL?: string | undefined;
  OPS_WEBHOOK_SECRET?: string | undefined;
}): OpsWebhook | undefined {
  const { OPS_WEBHOOK_URL: url, OPS_WEBHOOK_SECRET: secret } = env;
  if (url !== undefined && secret !== undefined) return { url, secret };
  if (url === secret) return undefined;
  throw new ConfigError('OPS_WEBHOOK_URL and OPS_WEBHOOK_SECRET go together: set both, or neither.');
}
