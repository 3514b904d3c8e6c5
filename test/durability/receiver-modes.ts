/** How a receiver can misbehave. */
export const RECEIVER_MODES = [
  'refuses',
  'fails',
  'hangs',
  'drips',
  'floods',
  'resets',
  'babbles',
  'interims',
  'flaps',
  'rejects',
] as const;
export type ReceiverMode = (typeof RECEIVER_MODES)[number];

/** Modes in which a sender may or may not have read the status line 200. */
export const ANSWERS_HALF: ReadonlySet<string> = new Set<ReceiverMode>(['drips', 'floods', 'resets']);
