import { createSignedPoster, type SignedPosts } from './signed-post.ts';

/**
 * The baseline, in a process of its own. Signs each body and posts it to each path, as fast as one process can with undici, and
 * stores nothing. The parent sends SignedPosts and { bodies }, any number of times. Each time it gets { seconds } when all
 * POSTs are answered.
 */
process.on('message', async ({ bodies, ...posts }: SignedPosts & { bodies: string[] }) => {
  const paths = Object.keys(posts.secrets);
  const poster = createSignedPoster(posts);
  const count = bodies.length * paths.length;
  let next = 0;
  const sender = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      const body = bodies[Math.floor(index / paths.length)] ?? '';
      await poster.post({ path: paths[index % paths.length] ?? '', body, index });
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: posts.inFlight }, sender));
  const seconds = (performance.now() - started) / 1_000;
  await poster.close();
  process.send?.({ seconds });
});
