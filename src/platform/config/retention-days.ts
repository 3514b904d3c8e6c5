import * as v from 'valibot';
import { ConfigError } from './config-error.ts';

/** How long rows are kept, in days; null: for ever. */
export interface Retention {
  /** After the last attempt of a delivery that has ended. */
  deliveries: number | null;
  /** Attempts before the last one. At the latest, they are removed with their delivery. */
  attempts: number | null;
  /** After an import has ended. */
  imports: number | null;
  /** Since a movement was stored, and also since its date_issue. Both must be past. */
  movements: number | null;
}

/** A hundred years. */
const MAX_DAYS = 36_500;

const RULE = `must be a number of days from 1d to ${MAX_DAYS}d, such as 90d, or forever`;

const isInRange = (text: string): boolean => {
  const days = Number.parseInt(text, 10);
  return text === 'forever' || (days >= 1 && days <= MAX_DAYS);
};

/** `90d` or `forever`. */
const Days = v.pipe(
  v.string(),
  v.regex(/^(?:\d{1,5}d|forever)$/, RULE),
  v.check(isInRange, RULE),
  v.transform((text) => (text === 'forever' ? null : Number.parseInt(text, 10))),
);

/** The variables that say how long rows are kept. */
export const RETENTION_VARIABLES = {
  RETENTION_DELIVERIES: v.optional(Days, '90d'),
  RETENTION_ATTEMPTS: v.optional(Days, '90d'),
  RETENTION_IMPORTS: v.optional(Days, '90d'),
  RETENTION_MOVEMENTS: v.optional(Days, 'forever'),
};

/**
 * Banks repeat the last weeks with each statement, and movements of a removed time are rejected. So movements must be kept for
 * longer than statements overlap.
 */
const LEAST_MOVEMENTS = 30;

/** @throws {ConfigError} when movements are kept for too short a time. */
export function readRetention(variables: Record<keyof typeof RETENTION_VARIABLES, number | null>): Retention {
  const { RETENTION_DELIVERIES: deliveries, RETENTION_MOVEMENTS: movements } = variables;
  if (movements !== null && movements < LEAST_MOVEMENTS) {
    throw new ConfigError(
      `RETENTION_MOVEMENTS must be at least ${LEAST_MOVEMENTS}d: banks send the movements of the last weeks again.`,
    );
  }
  if (movements !== null && (deliveries === null || deliveries > movements)) {
    throw new ConfigError(
      'RETENTION_MOVEMENTS must not be shorter than RETENTION_DELIVERIES: a delivery is shown with its movement.',
    );
  }
  return {
    deliveries,
    attempts: variables.RETENTION_ATTEMPTS,
    imports: variables.RETENTION_IMPORTS,
    movements,
  };
}
