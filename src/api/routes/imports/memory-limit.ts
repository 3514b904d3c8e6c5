import { createMiddleware } from '../../../http/app.ts';
import { declaredBytes, mediaType, RESOURCE_BYTES } from '../../../http/input.ts';
import { createByteBudget } from '../../../intake/byte-budget.ts';
import { JSON_IMPORT_BYTES } from '../../../intake/stage.ts';
import { Problem } from '../../../platform/problem.ts';

const MIB = 1024 * 1024;

/** The most bytes of JSON imports that a process reads at once. After parsing, they take several times as much memory. */
const TOTAL_BYTES = 64 * MIB;

/** The most bytes of one customer at once: one body of the largest size. A customer that sends slowly then does not hold up the others. */
const CUSTOMER_BYTES = JSON_IMPORT_BYTES;

/** How long a request waits before it is refused. Milliseconds. */
const PATIENCE = 5_000;

/**
 * Limits the memory that JSON imports take at once, because each is read and parsed as a whole. A request that would exceed the limit
 * waits for up to 5 s without its body being read. If it still exceeds the limit then, the answer is 503 with `Retry-After`. Bodies up
 * to 256 KiB, the limit of all other routes, do not count. NDJSON is read in parts, so it needs no limit.
 */
export function limitImportMemory() {
  const budget = createByteBudget({ total: TOTAL_BYTES, perOwner: CUSTOMER_BYTES, patience: PATIENCE });
  return createMiddleware(async (c, next) => {
    if (mediaType(c) !== 'application/json') return next();
    const bytes = declaredBytes(c, JSON_IMPORT_BYTES);
    if (bytes <= RESOURCE_BYTES) return next();
    const release = await budget.reserve(c.get('caller').customerId, bytes);
    if (release === null) {
      throw new Problem(
        'overloaded',
        'Too many large JSON imports are being read. Send this one again later, in smaller bodies, or as NDJSON.',
        { headers: { 'Retry-After': String(PATIENCE / 1_000) } },
      );
    }
    try {
      await next();
    } finally {
      release();
    }
  });
}
