import { readFileSync } from 'node:fs';

/** What docs/security.md says that a request needs. */
export interface Needs {
  /** As the page shows them: "`read`, `webhooks`", or "–" if no API key is admitted. */
  scopes: string;
  /** "yes" or "–" for a viewer, an operator and an admin. */
  roles: string;
}

const GROUP =
  /^\| (`[A-Z]+ \/v1\/[^|]+|any `GET` [^|]+) \| ([^|]+) \| ((?:yes|–) \| (?:yes|–) \| (?:yes|–)) \|$/gm;

const groups = [...readFileSync('docs/security.md', 'utf8').matchAll(GROUP)].map(
  ([, requests = '', scopes = '', roles = '']) => ({ requests, needs: { scopes, roles } }),
);

const otherGets = groups.find(({ requests }) => requests.startsWith('any'))?.needs;

/** The requests that the table names. */
export const namedRequests = new Map<string, Needs>(
  groups.flatMap(({ requests, needs }) =>
    [...requests.matchAll(/`([A-Z]+ \/v1\/\S+)`/g)].map(([, request = '']): [string, Needs] => [
      request,
      needs,
    ]),
  ),
);

/** What the table says about a request such as `GET /v1/imports/:id`. undefined: it says nothing. */
export const documentedNeeds = (request: string): Needs | undefined =>
  namedRequests.get(request) ?? (request.startsWith('GET ') ? otherGets : undefined);
