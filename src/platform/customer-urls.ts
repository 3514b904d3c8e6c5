import * as v from 'valibot';
import { maxCharacters } from './validation.ts';

/**
 * The form of URLs and hosts that customers name. These are regular expressions, so that /openapi.json can state exactly what is
 * accepted.
 */

const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const IPV4 = `(?:${OCTET}\\.){3}${OCTET}`;
const H16 = '[0-9A-Fa-f]{1,4}';
const IPV6 = [
  `(?:${H16}:){7}${H16}`,
  `(?:${H16}:){1,7}:`,
  ...[1, 2, 3, 4, 5, 6].map((after) => `(?:${H16}:){1,${7 - after}}(?::${H16}){1,${after}}`),
  `:(?::${H16}){1,7}`,
  '::',
].join('|');
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const NAME = `(?:${LABEL}\\.){0,10}[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`;
const PORT = '(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';

/**
 * An http or https URL without a user name, whose host is a name in ASCII or an address. Stricter than the URL parser, which also
 * accepts `http://0x7f.1`. TLS does not know a name that ends with a dot (RFC 6066, section 3), and nothing listens on port 0.
 */
export const HTTP_URL = new RegExp(
  `^[Hh][Tt][Tt][Pp][Ss]?://(?:${NAME}|${IPV4}|\\[(?:${IPV6})\\])(?::(?!0+(?:[/?#]|$))${PORT})?(?:[/?#]\\S*)?$`,
);

const URL_RULE =
  'must be an http or https URL without a user name, with a host name in ASCII (punycode) or an IP address';

/** Finds the rule that a URL breaks. @returns the rule, in the words of a validation message. */
function explainUrl(text: string): string {
  if (!/^https?:\/\//i.test(text)) return 'must begin with https:// or http://';
  if (/\s/.test(text)) return 'must not contain blanks: write %20';
  const [, host = ''] = /^[^:]+:\/\/([^/?#]*)/.exec(text) ?? [];
  if (host.includes('@')) return 'must not contain a user name or a password: use headers';
  if (/[^\x21-\x7e]/.test(host)) return 'must have its host name in ASCII (punycode, xn--…)';
  const [, digits] = /:(\d*)$/.exec(host) ?? [];
  if (digits === '') return 'must have a port after the colon of its host, or no colon';
  if (digits !== undefined && Number(digits) === 0)
    return 'must not have port 0: leave the port out, or name the one that listens';
  if (digits !== undefined && Number(digits) > 65_535) return 'must have a port from 1 to 65535';
  if (host.includes('_'))
    return 'must have a host name of letters, digits and hyphens: _ is not allowed (RFC 1123)';
  if (/\.(?::\d*)?$/.test(host)) return 'must not have a host name that ends with a dot';
  return URL_RULE;
}

/** A URL to which requests are sent. */
export const HttpUrl = v.pipe(
  v.string(URL_RULE),
  ...maxCharacters(2_048),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed || (HTTP_URL.test(dataset.value) && URL.canParse(dataset.value))) return;
    addIssue({ message: explainUrl(dataset.value) });
  }),
  v.regex(HTTP_URL, URL_RULE),
);

/** The host of another protocol: a name in ASCII or an address, IPv6 without brackets. */
export const HOST = new RegExp(`^(?:${NAME}\\.?|${IPV4}|${IPV6})$`);
