import type { Post } from './observed-run.ts';
import { violation } from './violation.ts';

interface Known {
  status: 'pending' | 'delivered' | 'failed';
}

/** Checks that an ordered webhook sends no movement while an earlier one is unfinished. */
export interface OrderCheck {
  /** @param ended what the run has finished and not recorded yet. */
  check(post: Post, ended: ReadonlySet<number>): void;
  /** It was sent while the webhook was not ordered. Earlier movements may be unfinished when the webhook becomes ordered. */
  sentOutOfOrder(id: number): void;
}

export function createOrderCheck({
  expected,
  known,
  againAt,
  gone,
}: {
  expected: readonly { id: number }[];
  known: ReadonlyMap<number, Known>;
  againAt: ReadonlyMap<number, number>;
  gone: ReadonlySet<number>;
}): OrderCheck {
  let orderedFrom = 0;
  /** All movements before this one have ended, or may be overtaken. */
  let first = 0;

  const mayBePassed = (id: number): boolean => {
    const status = known.get(id)?.status;
    // A delivery that was requested again comes out of its order: it is late already.
    return (
      (status !== undefined && status !== 'pending') || againAt.has(id) || gone.has(id) || id <= orderedFrom
    );
  };

  return {
    check({ id }, ended) {
      for (let it = expected[first]; it !== undefined && mayBePassed(it.id); it = expected[first]) first += 1;
      for (let at = first; ; at += 1) {
        const earlier = expected[at]?.id;
        if (earlier === undefined || earlier >= id) return;
        if (!ended.has(earlier) && !mayBePassed(earlier)) violation(`${id} overtakes ${earlier}`);
      }
    },
    sentOutOfOrder(id) {
      orderedFrom = Math.max(orderedFrom, id);
    },
  };
}
