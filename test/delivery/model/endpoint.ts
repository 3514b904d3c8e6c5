import type { Answer } from '../../../src/delivery/posting/types.ts';
import { between, type Random } from './random.ts';

/** How the endpoint is answering. */
export type Mood =
  | 'healthy'
  | 'flaky'
  | 'bodies'
  | 'refusing slowly'
  | 'down'
  | 'throttling'
  | 'hanging'
  | 'slow'
  | 'gone';

/** The endpoint's treatment of a POST: its answer, and after how many milliseconds it comes. */
export interface Response {
  answer: Answer;
  delay: number;
}

const TIMEOUT = 15_000;

const failed = (error: string): Answer => ({ ...answered(200), status: null, error });

const answered = (status: number, retryAfter?: number): Answer => ({
  status,
  retryAfter: retryAfter === undefined ? undefined : String(retryAfter),
  body: '',
  error: null,
  refused: false,
  aborted: false,
  posts: 1,
});

/** For each mood, the first entry whose number is larger than a random number decides. */
const CHANCES: Record<Mood, readonly (readonly [number, number | 'hang' | 'refused' | 'reset'])[]> = {
  healthy: [[1, 200]],
  flaky: [
    [0.6, 200],
    [0.75, 500],
    [0.85, 400],
    [0.9, 404],
    [0.95, 429],
    [0.98, 'hang'],
    [1, 'reset'],
  ],
  bodies: [
    [0.5, 200],
    [1, 422],
  ],
  'refusing slowly': [
    [0.1, 200],
    [1, 422],
  ],
  down: [
    [0.5, 'reset'],
    [0.8, 500],
    [0.9, 404],
    [1, 'refused'],
  ],
  throttling: [
    [0.7, 200],
    [0.9, 429],
    [1, 503],
  ],
  hanging: [
    [0.3, 200],
    [1, 'hang'],
  ],
  slow: [[1, 200]],
  gone: [
    [0.8, 200],
    [1, 410],
  ],
};

export const MOODS = Object.keys(CHANCES) as Mood[];

export function respond(mood: Mood, random: Random): Response {
  const chance = random();
  const what = CHANCES[mood].find(([below]) => chance < below)?.[1] ?? 200;
  const isSlow = mood === 'slow' || mood === 'refusing slowly';
  const delay = isSlow ? between(random, 200, 9_000) : between(random, 1, 30);
  if (what === 'hang') return { answer: failed('timed out'), delay: TIMEOUT };
  if (what === 'reset') return { answer: failed('ECONNRESET'), delay };
  if (what === 'refused') return { answer: { ...failed('refused'), refused: true }, delay };
  if (what === 429 || what === 503) {
    const asked = random() < 0.5 ? undefined : between(random, 1, random() < 0.1 ? 7_200 : 60);
    return { answer: answered(what, what === 503 ? (asked ?? 7) : asked), delay };
  }
  return { answer: answered(what), delay };
}
