import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Look, look, paceOf, type Standing, UNREMARKABLE } from '../../src/webhook-record/standing.ts';

const START = new Date('2026-03-01T03:00:00Z').getTime();
const minutes = (number: number) => new Date(START + number * 60_000);

const seen = (minute: number, fields: Partial<Look> = {}): Look => ({
  now: minutes(minute),
  failing: false,
  waiting: null,
  matched: 0,
  finished: 0,
  ...fields,
});

/** Looks several times, and lists what has changed at which minute. */
function watch(looks: readonly Look[]) {
  let standing: Standing | null = null;
  const told: string[] = [];
  for (const it of looks) {
    const next = look(standing ?? UNREMARKABLE, it);
    standing = next.standing;
    told.push(...next.changes.map((change) => `${(it.now.getTime() - START) / 60_000} ${change}`));
  }
  return { standing, told };
}

/** Fails in one minute and works in the next, this often. */
const flaps = (times: number, from = 0, every = 2) =>
  Array.from({ length: times }, (_, index) => [
    seen(from + index * every, { failing: true }),
    seen(from + index * every + 1),
  ]).flat();

describe('an endpoint', () => {
  it('flaps from its third recovery within an hour, until an hour after its last change', () => {
    expect(watch(flaps(2)).told).toEqual([]);
    expect(watch([...flaps(3), seen(64), seen(66)]).told).toEqual([
      '5 webhook.flapping',
      '66 webhook.stable',
    ]);
    expect(watch([...flaps(3), ...flaps(1, 60), seen(120), seen(122)]).told).toEqual([
      '5 webhook.flapping',
      '122 webhook.stable',
    ]);
  });

  it('does not flap if it recovers less often', () => {
    expect(watch(flaps(5, 0, 40)).told).toEqual([]);
  });

  it('is forgotten an hour after its last change', () => {
    expect(watch([...flaps(1), seen(60)]).standing).not.toBeNull();
    expect(watch([...flaps(1), seen(62)]).standing).toBeNull();
  });

  it('is never told to flap twice without having been stable in between, and the other way round', () => {
    const any = fc.array(
      fc.record({ failing: fc.boolean(), waiting: fc.constantFrom(null, 100, 200, 400), after: fc.nat(90) }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(any, (steps) => {
        let minute = 0;
        const looks = steps.map(({ after, ...fields }) => {
          minute += after;
          return seen(minute, fields);
        });
        const told = watch(looks).told.map((it) => it.split(' ')[1]);
        for (const [begin, end] of [
          ['webhook.flapping', 'webhook.stable'],
          ['webhook.behind', 'webhook.caught_up'],
        ]) {
          const own = told.filter((it) => it === begin || it === end);
          // It is also not behind any more when it begins to fail, which is not told.
          for (const [index, it] of own.entries()) if (it === end) expect(own[index - 1]).toBe(begin);
        }
      }),
    );
  });
});

describe('a webhook', () => {
  it('is behind after five minutes, and has caught up below two and a half', () => {
    const waits = [299, 300, 200, 150, 149].map((waiting, minute) => seen(minute, { waiting }));
    expect(watch(waits).told).toEqual(['1 webhook.behind', '4 webhook.caught_up']);
  });

  it('has not caught up when its endpoint begins to fail', () => {
    expect(watch([seen(0, { waiting: 400 }), seen(1, { failing: true })]).told).toEqual(['0 webhook.behind']);
  });

  it('has the pace of the last two to four minutes', () => {
    // 60 come and 100 go in each minute, from minute 3 on 40 go.
    const finishedAt = (minute: number) => (minute <= 3 ? 100 * minute : 300 + 40 * (minute - 3));
    const at = (minute: number) =>
      seen(minute, { waiting: 400, matched: 1_000 + 60 * minute, finished: finishedAt(minute) });
    const looks = Array.from({ length: 11 }, (_, minute) => at(minute));
    const { standing } = watch(looks.slice(0, 4));
    expect(standing && paceOf(standing, at(3))).toEqual({
      inPerMinute: 60,
      outPerMinute: 100,
      // 880 are pending, and become 40 fewer in each minute.
      caughtUpInSeconds: 880 * 1.5,
    });
    const later = watch(looks).standing;
    expect(later && paceOf(later, at(10))).toEqual({
      inPerMinute: 60,
      outPerMinute: 40,
      caughtUpInSeconds: null,
    });
  });

  it('has no pace before it was watched for ten seconds', () => {
    const { standing } = watch([seen(0, { waiting: 400 })]);
    expect(standing && paceOf(standing, seen(0.1, { waiting: 400 }))).toBeNull();
  });
});
