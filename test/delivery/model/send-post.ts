import { NOT_SENT } from '../../../src/delivery/posting/post.ts';
import type { Answer } from '../../../src/delivery/posting/types.ts';
import { respond } from './endpoint.ts';
import type { Post } from './observed-run.ts';
import { between, pick } from './random.ts';
import type { World } from './world.ts';

type Sent = Pick<Post, 'run' | 'id' | 'delivery' | 'sentAt'>;

/** Sends one POST over the world's network. `answered` is called unless the process dies before the answer. */
export function sendPost(world: World, sent: Sent, answered: (answer: Answer) => void): void {
  const { timeline, checks, random } = world;
  const { process } = sent.run;
  const it: Post = {
    ...sent,
    before: [],
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

/** Answers that accept nothing. */
const UNREADABLE: readonly Partial<Answer>[] = [
  { body: '{"failed":[' },
  { body: '', isUnreadable: true },
  { body: '', contentType: 'application/json', isOpenEnded: true },
  { body: 'Warning: {"failed":["msg_1-1"]}' },
];

/** The part of a batch that an answer may name as failed. */
const NAMED = 0.3;

/**
 * Sends one POST with several deliveries. The receiver may name some as failed, or answer with something that ends early. What the sender
 * must make of the answer is worked out here from the documentation.
 */
export function sendBatch(world: World, sent: readonly Sent[], answered: (answer: Answer) => void): void {
  const { timeline, checks, random } = world;
  const [first] = sent;
  if (first === undefined) throw new Error('an empty batch');
  const { process, start } = first.run;
  const posts = sent.map(
    (it, index): Post => ({
      ...it,
      before: sent.slice(0, index).map(({ id }) => id),
      ...{ state: 'in flight', isSuccess: false, retryAfter: 0, isRecorded: false },
      abort() {
        if (posts[0]?.state !== 'in flight') return;
        end('aborted');
        answered(NOT_SENT);
      },
    }),
  );
  const end = (state: Post['state']) => {
    for (const post of posts) {
      post.state = state;
      process.posts.delete(post);
    }
  };
  for (const post of posts) {
    checks.posted(post);
    process.posts.add(post);
  }
  timeline.after(between(random, 0, 3), null, () => {
    if (!process.alive && random() < 0.5) return;
    const { answer, delay } = respond(world.mood, random);
    const isWell = answer.status === 200;
    const chance = isWell ? random() : 1;
    const failed = chance < 0.2 ? posts.filter(() => random() < NAMED) : [];
    const isTrusted = chance < 0.2 || chance >= 0.25;
    const ids = failed.map(({ id }) => `"msg_1-${id}"`).join();
    const read = chance < 0.2 ? { body: `{"failed":[${ids}]}` } : isTrusted ? {} : pick(random, UNREADABLE);
    for (const post of posts) {
      post.isSuccess = isWell && isTrusted && !failed.includes(post);
      post.retryAfter = Math.min(3_600, Number(answer.retryAfter ?? 0)) * 1_000;
    }
    timeline.after(delay, process, () => {
      if (posts[0]?.state !== 'in flight') return;
      end('answered');
      const isRejected = posts.length > 1 && [400, 413, 422].includes(answer.status ?? 0);
      const firstFailed = posts.findIndex(({ isSuccess }) => !isSuccess);
      for (const [index, post] of posts.entries())
        if (isRejected || (start.ordered && firstFailed >= 0 && index > firstFailed)) post.state = 'aborted';
      // What an ordered webhook sends again counts as not accepted.
      for (const post of posts) if (post.state === 'aborted') post.isSuccess = false;
      checks.answeredBatch(posts, { answer, isWell: isWell && isTrusted, isRejected });
      answered({ ...answer, ...read });
    });
  });
}
