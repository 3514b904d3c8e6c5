/** Movements that were issued before this day are old, and all others of a run are younger. */
export const OLD_BEFORE = '2025-07-01';

const DAY = 86_400_000;

/** Settings with which only what is from before that day is removed. They depend on today, because the settings count days. */
export function retentionEnv(now = Date.now()): Record<string, string> {
  const days = `${Math.floor((now - Date.parse(OLD_BEFORE)) / DAY)}d`;
  return {
    RETENTION_DELIVERIES: days,
    RETENTION_ATTEMPTS: days,
    RETENTION_IMPORTS: days,
    RETENTION_MOVEMENTS: days,
  };
}
