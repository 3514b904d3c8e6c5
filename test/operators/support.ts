import { randomBytes } from 'node:crypto';
import type { OperatorRole } from '../../src/customers/caller.ts';
import { createToken } from '../../src/customers/operator-tokens.ts';
import { requireDocumented } from '../support/document.ts';
import type { Answer, CallOptions, TestService } from '../support/service.ts';

/** Operators' tokens for tests. */

export const newExternalId = () => `ext-${randomBytes(6).toString('hex')}`;

/** Creates a token. */
export async function tokenOf(service: TestService, role: OperatorRole): Promise<string> {
  const operator = { source: 'configuration', name: 'test', role: 'admin' } as const;
  const { token } = await createToken(service.runtime.database, operator, {
    title: `test ${role}`,
    role,
    expires_at: null,
  });
  return token;
}

/**
 * Sends a request with a token to the operators' listener. The answer must be as its document says.
 * @param customer the header Ledgerbell-Customer.
 */
export async function asOperator(
  service: TestService,
  token: string,
  method: string,
  path: string,
  { customer, ...options }: CallOptions & { customer?: string | number } = {},
): Promise<Answer> {
  const answer = await service.callOps(method, path, {
    ...options,
    headers: {
      authorization: `Bearer ${token}`,
      ...(customer === undefined ? {} : { 'ledgerbell-customer': String(customer) }),
      ...options.headers,
    },
  });
  await requireDocumented(service.opsUrl + path, method, answer);
  return answer;
}
