import { requireOption } from './required-option.ts';

/** How operators name themselves and the customer for whom they act. */

export interface OperatorAccess {
  /** The address of the operators' API, such as `https://ops.ledgerbell.example`. It is not that of the API. */
  url: string | undefined;
  /** An operator's token, `lbop_…`. */
  token: string | undefined;
}

/** A customer: its id, or the external id with which it was created. */
export type CustomerName = number | string | { externalId: string };

/** The address of the operators' API. @throws {Error} if the address is missing. */
export const addressOfOperators = ({ url }: OperatorAccess): string =>
  requireOption('url', "the address of the operators' API", url);

/** The headers of a request with an operator's token. @throws {Error} if the token is missing. */
export const operatorHeaders = ({ token }: OperatorAccess) => ({
  Authorization: `Bearer ${requireOption('token', 'the token of an operator', token)}`,
});

/** The header for a request that is for one customer. */
export const customerHeader = (customer: CustomerName) => ({
  'Ledgerbell-Customer':
    typeof customer === 'object'
      ? `external_id:${encodeURIComponent(customer.externalId)}`
      : String(customer),
});
