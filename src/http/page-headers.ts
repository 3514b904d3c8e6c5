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
    // With the default, no-referrer, browsers send `Origin: null` with a page's own forms, which are then refused.
    referrerPolicy: 'same-origin',
    // The proxy that terminates TLS decides about this for the whole host.
    strictTransportSecurity: false,
  });
