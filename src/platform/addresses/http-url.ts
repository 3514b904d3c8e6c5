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
const NAME = `(?:${LABEL}\\.){0,10}[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.?`;
const PORT = '(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';

/**
 * An http or https URL without a user name, whose host is a name in ASCII or an address. Stricter than the URL parser, which also
 * accepts `http://0x7f.1`.
 */
export const HTTP_URL = new RegExp(
  `^[Hh][Tt][Tt][Pp][Ss]?://(?:${NAME}|${IPV4}|\\[(?:${IPV6})\\])(?::${PORT})?(?:[/?#]\\S*)?$`,
);

/** The host of another protocol: a name in ASCII or an address, IPv6 without brackets. */
export const HOST = new RegExp(`^(?:${NAME}|${IPV4}|${IPV6})$`);
