import { secureHeaders } from 'hono/secure-headers';

type Policy = NonNullable<NonNullable<Parameters<typeof secureHeaders>[0]>['contentSecurityPolicy']>;

/** Security headers for HTML pages; the API's JSON needs none of them. @param policy what the page may load. */
export const pageHeaders = (policy: Policy) =>
  secureHeaders({
    contentSecurityPolicy: {
      frameAncestors: ["'none'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      ...policy,
    },
    // The proxy that terminates TLS decides about this for the whole host.
    strictTransportSecurity: false,
  });
