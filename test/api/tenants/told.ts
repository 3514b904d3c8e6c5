import type { Answer } from '../../support/service.ts';

/** Parts in which two equal answers may differ: the request's id, the time, and the rest of a rate limit. */
const VOLATILE = /^(x-request-id|date|ratelimit|content-length)/;

export const told = ({ status, headers, body }: Answer) => {
  const { request_id: _, ...shown } = body;
  const rest = JSON.parse(
    JSON.stringify(shown, (name, value) => (name === 'last_used_at' ? undefined : value)),
  );
  return { status, headers: [...headers].filter(([name]) => !VOLATILE.test(name)), body: rest };
};
