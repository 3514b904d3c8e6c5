import type { Answer } from '../../support/service.ts';

/** Parts that may differ between two answers that tell the same: the request's own id, the moment, and what is left of a limit. */
const VOLATILE = /^(x-request-id|date|ratelimit|content-length)/;

export const told = ({ status, headers, body }: Answer) => {
  const { request_id: _, ...shown } = body;
  const rest = JSON.parse(
    JSON.stringify(shown, (name, value) => (name === 'last_used_at' ? undefined : value)),
  );
  return { status, headers: [...headers].filter(([name]) => !VOLATILE.test(name)), body: rest };
};
