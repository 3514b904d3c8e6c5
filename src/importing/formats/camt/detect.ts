/** A message element, also with the suffix of version 01. */
const MESSAGE = /<(?:[\w.-]+:)?BkToCstmr(?:AcctRpt|Stmt|DbtCdtNtfctn)(?:V01)?[\s>/]/;
/** The name of a message definition, as in the namespace or in a business application header. */
const DEFINITION = /camt\.05[234]\.\d{3}\.\d{2}/;

/**
 * Whether a file is a camt.052, camt.053 or camt.054 message, from its first 4 KiB of decoded text. It must be XML, and name one of
 * these messages or its definition.
 */
export function looksLikeCamt(start: string): boolean {
  return /^[\uFEFF\s]*</.test(start) && (MESSAGE.test(start) || DEFINITION.test(start));
}
