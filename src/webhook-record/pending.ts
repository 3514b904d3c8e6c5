/** How many deliveries of a webhook are pending, in SQL. Counters are subtracted, so the cost is the same for any size of backlog. */

/**
 * The number of pending deliveries. A delivery that ends while the counters are read may make it negative: then it is 0.
 * @param backlog alias of `webhook_backlogs`. @param cursor alias of `webhook_cursors`.
 */
export const pendingOf = (backlog: string, cursor: string): string =>
  `GREATEST(CAST(${backlog}.matched_count AS SIGNED) - ${cursor}.delivered_count - ${cursor}.failed_count, 0)`;

/** How many deliveries have ended, and how many were matched at all: `pendingOf` is the difference. */
export const countsOf = (backlog: string, cursor: string): string =>
  `${backlog}.matched_count AS matched, ${cursor}.delivered_count + ${cursor}.failed_count AS finished`;

/**
 * How many deliveries of a webhook's replays have still to become pending. NULL: they are not all counted yet. Index: replays_open.
 * @param webhook alias of `webhooks`.
 */
export const toComeOf = (webhook: string): string => `(
  SELECT IF(COUNT(*) = COUNT(p.to_come), COALESCE(SUM(p.to_come), 0), NULL) FROM replays p FORCE INDEX (replays_open)
  WHERE p.webhook_id = ${webhook}.id AND p.finished_at IS NULL AND p.cancelled_at IS NULL)`;
