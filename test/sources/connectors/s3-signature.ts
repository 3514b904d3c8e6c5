import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * Whether a request has a valid signature, version 4 (AWS documentation, "Create a signed AWS API request").
 * The hash of the body is taken from its header.
 */
export function isSigned({ method, url = '', headers }: IncomingMessage, secret: string): boolean {
  const parts = /Credential=[^/]+\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
    headers.authorization ?? '',
  );
  if (parts === null) return false;
  const [, scope = '', signedHeaders = '', signature] = parts;
  const [path = '', query = ''] = url.split('?');
  const canonicalRequest = [
    method,
    path,
    query
      .split('&')
      .map((parameter) => (parameter.includes('=') || parameter === '' ? parameter : `${parameter}=`))
      .toSorted()
      .join('&'),
    ...signedHeaders.split(';').map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    signedHeaders,
    headers['x-amz-content-sha256'],
  ].join('\n');
  const hash = createHash('sha256').update(canonicalRequest).digest('hex');
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash].join('\n');
  const key = scope
    .split('/')
    .reduce<string | Buffer>(
      (result, part) => createHmac('sha256', result).update(part).digest(),
      `AWS4${secret}`,
    );
  return createHmac('sha256', key).update(toSign).digest('hex') === signature;
}
