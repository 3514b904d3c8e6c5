import { expect, it } from 'vitest';
import { createPostQueue, SMALL_BACKLOG } from '../../src/delivery/engine/post-queue.ts';
import { systemClock } from '../../src/platform/system-clock.ts';

const ORIGIN = 'https://a.example';

/** Runs of one process, whose POSTs end when the test says so. `begun` has the names of those whose POSTs took turns, in order. */
function openQueue(options: Partial<Parameters<typeof createPostQueue>[0]> = {}) {
  const queue = createPostQueue({ ...systemClock, ...options });
  const begun: string[] = [];
  const open = (name = '', { customerId = '1', origin = ORIGIN } = {}) => {
    const posts = queue.open(customerId, origin);
    let count = 0;
    let givenBack = 0;
    const post = {
      begin() {
        count += 1;
        begun.push(name);
      },
      giveBack() {
        givenBack += 1;
      },
    };
    return {
      add(more: number) {
        for (let i = 0; i < more; i += 1) posts.add(post);
      },
      addBatches(more: number) {
        for (let i = 0; i < more; i += 1) posts.addBatch(post);
      },
      /** More than a small backlog: the first POSTs leave immediately, and what comes next takes turns. */
      addToLargeBacklog(more: number) {
        for (let i = 0; i < SMALL_BACKLOG; i += 1) posts.add({ begin() {}, giveBack() {} });
        this.add(more);
      },
      end: () => posts.ended(),
      endBatch: () => posts.batchEnded(),
      caughtUp: () => posts.caughtUp(),
      giveBack: () => posts.giveBack(),
      givenBack: () => givenBack,
      begun: () => count,
    };
  };
  return { begun, open };
}

const nextPass = () => new Promise(setImmediate);

it('the first POSTs of a run leave immediately, and so do the first POSTs after it has caught up', async () => {
  const run = openQueue().open();
  run.add(SMALL_BACKLOG + 1);
  expect(run.begun()).toBe(SMALL_BACKLOG);
  await nextPass();
  expect(run.begun()).toBe(SMALL_BACKLOG + 1);
  run.caughtUp();
  run.add(1);
  expect(run.begun()).toBe(SMALL_BACKLOG + 2);
});

it('only a limited number of POSTs begin in one pass of the event loop, and the rest in the next passes', async () => {
  const { begun, open } = openQueue({ perPass: 3, perWebhook: 2 });
  open().addToLargeBacklog(8);
  expect(begun).toHaveLength(0);
  const counts = [];
  for (let pass = 0; pass < 3; pass += 1) {
    await nextPass();
    counts.push(begun.length);
  }
  expect(counts).toEqual([3, 6, 8]);
});

it('webhooks take turns, however large the backlog of one of them', async () => {
  const { begun, open } = openQueue({ perPass: 4, perWebhook: 1 });
  open('huge').addToLargeBacklog(100);
  for (const name of ['b', 'c', 'd']) open(name).addToLargeBacklog(2);
  while (begun.length < 8) await nextPass();
  expect(begun.slice(0, 8)).toEqual(['huge', 'b', 'c', 'd', 'huge', 'b', 'c', 'd']);
});

it('after a full pass, the next pass begins with the webhook whose turn was next', async () => {
  const { begun, open } = openQueue({ perPass: 2, perWebhook: 2 });
  for (const name of ['a', 'b', 'c']) open(name).addToLargeBacklog(4);
  while (begun.length < 12) await nextPass();
  expect(begun.join('')).toBe('aabbccaabbcc');
});

it('a webhook that comes while others wait gets its turn after them', async () => {
  const { begun, open } = openQueue({ perPass: 1, perWebhook: 1 });
  open('a').addToLargeBacklog(3);
  while (begun.length < 1) await nextPass();
  open('late').addToLargeBacklog(1);
  while (begun.length < 4) await nextPass();
  expect(begun).toEqual(['a', 'a', 'late', 'a']);
});

it('every POST begins, including one that is added while another begins', async () => {
  const begun: number[] = [];
  const run = createPostQueue({ ...systemClock, perPass: 4, perWebhook: 2 }).open('1', ORIGIN);
  const begin = (number: number) => {
    begun.push(number);
    if (number < 50) add(number + 1);
  };
  const add = (number: number) => run.add({ begin: () => begin(number), giveBack() {} });
  add(1);
  while (begun.length < 50) await nextPass();
  expect(begun).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
});

it('the limit of a host holds for all webhooks of a customer, which take turns', () => {
  const { open } = openQueue({ mostPerHost: 4 });
  const [a, b, c] = [open(), open(), open()];
  for (const run of [a, b, c]) run.add(10);
  expect([a.begun(), b.begun(), c.begun()]).toEqual([4, 1, 1]);
  // Two more than the limit are in flight, since a webhook may always have one. They end first.
  a.end();
  a.end();
  expect([a.begun(), b.begun(), c.begun()]).toEqual([4, 1, 1]);
  a.end();
  expect([a.begun(), b.begun(), c.begun()]).toEqual([5, 1, 1]);
  a.end();
  expect([a.begun(), b.begun(), c.begun()]).toEqual([5, 2, 1]);
});

it('a webhook goes on one POST at a time while the POSTs of its neighbours hang', () => {
  const { open } = openQueue({ mostPerHost: 2 });
  const [hanging, healthy] = [open(), open()];
  hanging.add(5);
  healthy.add(5);
  for (let sent = 1; sent <= 5; sent += 1) {
    expect([hanging.begun(), healthy.begun()]).toEqual([2, sent]);
    healthy.end();
  }
});

it('POSTs of another customer and POSTs to another host do not count towards the limit of a host', () => {
  const { open } = openQueue({ mostPerHost: 2 });
  const runs = [open(), open('', { customerId: '2' }), open('', { origin: 'https://a.example:8443' })];
  for (const run of runs) run.add(3);
  expect(runs.map((it) => it.begun())).toEqual([2, 2, 2]);
});

it('no POST is lost or sent twice, in whatever order POSTs end', async () => {
  const { open } = openQueue({ mostPerHost: 3 });
  const runs = Array.from({ length: 20 }, () => open());
  const ended = runs.map(() => 0);
  for (const [i, run] of runs.entries()) run.add(i);
  for (let step = 0; ended.some((count, i) => count < i); step += 1) {
    if (step % 50 === 0) await nextPass();
    const i = (step * 7) % runs.length;
    const run = runs[i];
    if (run === undefined || run.begun() === ended[i]) continue;
    ended[i] = (ended[i] ?? 0) + 1;
    run.end();
  }
  expect(runs.map((it) => it.begun())).toEqual(runs.map((_, i) => i));
});

it('a customer has a share of the batches of a process, however slow its endpoints are, and its webhooks take turns', () => {
  const { open } = openQueue({ mostBatches: 8, mostBatchesPerCustomer: 4 });
  const [slow, other] = [open(), open()];
  slow.addBatches(10);
  other.addBatches(3);
  // A webhook may always have one.
  expect([slow.begun(), other.begun()]).toEqual([4, 1]);
  const neighbour = open('', { customerId: '2' });
  neighbour.addBatches(3);
  expect(neighbour.begun()).toBe(3);
  for (let ended = 0; ended < 3; ended += 1) neighbour.endBatch();
  slow.endBatch();
  expect([slow.begun(), other.begun()]).toEqual([4, 1]);
  slow.endBatch();
  expect([slow.begun(), other.begun()]).toEqual([5, 1]);
  slow.endBatch();
  expect([slow.begun(), other.begun()]).toEqual([5, 2]);
});

it('each webhook may have one batch, however many a process has', () => {
  const { open } = openQueue({ mostBatches: 8, mostBatchesPerCustomer: 4 });
  const customers = Array.from({ length: 5 }, (_, at) => open('', { customerId: String(at) }));
  for (const run of customers) run.addBatches(10);
  expect(customers.map((run) => run.begun())).toEqual([4, 4, 1, 1, 1]);
});

it('what waits for a place is given back when its run ends, and its neighbours go on', () => {
  const { open } = openQueue({ mostBatches: 3, mostBatchesPerCustomer: 2 });
  const [one, other] = [open(), open('', { customerId: '2' })];
  one.addBatches(5);
  other.addBatches(5);
  expect([one.begun(), other.begun()]).toEqual([2, 1]);
  one.giveBack();
  expect([one.begun(), one.givenBack()]).toEqual([2, 3]);
  one.endBatch();
  expect(other.begun()).toBe(2);
  other.giveBack();
  expect([other.begun(), other.givenBack()]).toEqual([2, 3]);
  for (const run of [one, other, other]) run.endBatch();
  // Nothing is left in flight, so all places are free.
  const last = open();
  last.addBatches(3);
  expect(last.begun()).toBe(2);
});

it('no batch is lost or begun twice, in whatever order batches end and runs give back', async () => {
  const { open } = openQueue({ mostBatches: 5, mostBatchesPerCustomer: 3, mostPerHost: 2 });
  const runs = Array.from({ length: 12 }, (_, at) => open('', { customerId: String(at % 3) }));
  const ended = runs.map(() => 0);
  for (const run of runs) run.addBatches(20);
  for (let step = 0; step < 20_000; step += 1) {
    if (step % 20 === 0) await nextPass();
    const at = (step * 7) % runs.length;
    const run = runs[at];
    if (step === 50) runs[3]?.giveBack();
    if (run === undefined || run.begun() === ended[at]) continue;
    ended[at] = (ended[at] ?? 0) + 1;
    run.endBatch();
  }
  expect(runs.map((it) => it.begun() + it.givenBack())).toEqual(runs.map(() => 20));
  expect(runs.map((it) => it.begun())).toEqual(ended);
  expect(runs[3]?.givenBack()).toBeGreaterThan(0);
});
