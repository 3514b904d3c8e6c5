import { NOT_SENT } from '../../../src/delivery/posting/post.ts';
import type { Answer } from '../../../src/delivery/posting/types.ts';
import { respond } from './endpoint.ts';
import type { Post } from './observed-run.ts';
import { between } from './random.ts';
import type { World } from './world.ts';

/** Sends one POST over the world's network. `answered` is called unless the process dies before the answer. */
export function sendPost(
  world: World,
  sent: Pick<Post, 'run' | 'id' | 'delivery' | 'sentAt'>,
  answered: (answer: Answer) => void,
): void {
  const { timeline, checks, random } = world;
  const { process } = sent.run;
  const it: Post = {
    ...sent,
    state: 'in flight',
    isSuccess: false,
    retryAfter: 0,
    isRecorded: false,
    abort() {
      it.state = 'aborted';
      process.posts.delete(it);
      answered(NOT_SENT);
    },
  };
  checks.posted(it);
  process.posts.add(it);
  timeline.after(between(random, 0, 3), null, () => {
    // If the process has died, the POST is cut off on the way, or arrives.
    if (!process.alive && random() < 0.5) return;
    const { answer, delay } = respond(world.mood, random);
    it.isSuccess = answer.status === 200;
    it.retryAfter = Math.min(3_600, Number(answer.retryAfter ?? 0)) * 1_000;
    timeline.after(delay, process, () => {
      if (it.state !== 'in flight') return;
      it.state = 'answered';
      process.posts.delete(it);
      checks.answered(it, answer);
      answered(answer);
    });
  });
}
