import * as v from 'valibot';
import { expect, it } from 'vitest';
import { HttpUrl } from '../../src/platform/customer-urls.ts';

const faultOf = (text: string): string | null => {
  const result = v.safeParse(HttpUrl, text, { abortPipeEarly: true });
  return result.success ? null : (result.issues[0]?.message ?? '');
};

it.each([
  ['example.com/hook', 'must begin with https:// or http://'],
  ['ftp://example.com', 'must begin with https:// or http://'],
  ['https://example.com/a b', 'must not contain blanks: write %20'],
  ['https://user:secret@example.com', 'must not contain a user name or a password: use headers'],
  ['https://bücher.example', 'must have its host name in ASCII (punycode, xn--…)'],
  ['https://example.com.', 'must not have a host name that ends with a dot'],
  ['https://example.com.:8443/hook', 'must not have a host name that ends with a dot'],
  ['https://example.com:65536/hook', 'must have a port from 1 to 65535'],
  ['https://example.com:/hook', 'must have a port after the colon of its host, or no colon'],
  [
    'https://my_host.example/hook',
    'must have a host name of letters, digits and hyphens: _ is not allowed (RFC 1123)',
  ],
  ['https://example.com:0/hook', 'must not have port 0: leave the port out, or name the one that listens'],
  ['https://example.com:000', 'must not have port 0: leave the port out, or name the one that listens'],
  [
    'https://0x7f.1',
    'must be an http or https URL without a user name, with a host name in ASCII (punycode) or an IP address',
  ],
])('%s %s', (url, fault) => {
  expect(faultOf(url)).toBe(fault);
});

it.each(['https://example.com', 'http://127.0.0.1:8080/a?b#c', 'https://[2001:db8::1]:443/', 'HTTPS://a.b'])(
  '%s can be an endpoint',
  (url) => {
    expect(faultOf(url)).toBeNull();
  },
);
