import { secureHeaders } from 'hono/secure-headers';

type Policy = NonNullable<NonNullable<Parameters<typeof secureHeaders>[0]>['contentSecurityPolicy']>;

/** Security headers for pages (the API's JSON needs none of them). `policy` says what the page may load. */
export const pageHeaders = (policy: Policy) =>
  secureHeaders({
    contentSecurityPolicy: {
      frameAncestors: ["'none'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      ...policy,
    },
    // Whoever ends TLS in front of this service decides about that for the whole host.
    strictTransportSecurity: false,
  });
