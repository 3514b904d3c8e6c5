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
] as const;
export type ReceiverMode = (typeof RECEIVER_MODES)[number];

/** Modes in which a sender may have read the status line 200, and may just as well not. */
export const ANSWERS_HALF: ReadonlySet<string> = new Set<ReceiverMode>(['drips', 'floods', 'resets']);
