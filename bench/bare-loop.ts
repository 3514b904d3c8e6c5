import { createSignedPoster, type SignedPosts } from './signed-post.ts';

/**
 * The baseline, a process of its own: signs each body and posts it to each path, as fast as one process can with undici, and
 * stores nothing. Message from the parent, any number of times: SignedPosts and { bodies }; to the parent, when all are
 * answered: { seconds }.
 */
process.on('message', async ({ bodies, ...posts }: SignedPosts & { bodies: string[] }) => {
  const paths = Object.keys(posts.secrets);
  const poster = createSignedPoster(posts);
  const count = bodies.length * paths.length;
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      const body = bodies[Math.floor(index / paths.length)] ?? '';
      await poster.post({ path: paths[index % paths.length] ?? '', body, index });
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: posts.inFlight }, lane));
  const seconds = (performance.now() - started) / 1_000;
  await poster.close();
  process.send?.({ seconds });
});
