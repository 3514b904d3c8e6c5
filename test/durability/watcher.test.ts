import { describe, expect, it } from 'vitest';
import type { InjectedFault } from './faults/inject.ts';
import { findWrongStatements, type Statement } from './watcher.ts';

const SECOND = 1_000;

/** Statements once a second, of which each says the same. */
const saying = (fields: Partial<Statement>, [from, to]: readonly [number, number]): Statement[] =>
  Array.from({ length: to - from }, (_, index) => ({
    source: '/readyz',
    mysql: 'ok',
    redis: 'ok',
    problems: [],
    ...fields,
    from: (from + index) * SECOND,
    to: (from + index) * SECOND + 10,
  }));

const fault = (kind: InjectedFault['kind'], [from, to]: readonly [number, number]): InjectedFault => ({
  kind,
  at: from,
  which: 0,
  seconds: to - from,
  start: from * SECOND,
  end: to * SECOND,
  note: '',
});

describe('what /readyz and status say is compared with the faults', () => {
  const readOnly = 'refuses writes: it is read-only';

  it('is right when it names the fault', () => {
    const said = [...saying({}, [0, 11]), ...saying({ mysql: readOnly }, [11, 24]), ...saying({}, [25, 60])];
    expect(findWrongStatements(said, [fault('mysql read-only', [10, 24])])).toEqual([]);
  });

  it('is wrong when it says that all is well during a fault, or gives another reason', () => {
    const faults = [fault('mysql read-only', [10, 24]), fault('redis out of memory', [10, 24])];
    expect(findWrongStatements(saying({}, [0, 24]), faults)).toContain(
      '/readyz said "ok" during mysql read-only',
    );
    expect(findWrongStatements(saying({ mysql: readOnly }, [10, 24]), faults)).toContain(
      '/readyz said "ok" during redis out of memory',
    );
    expect(
      findWrongStatements(saying({ mysql: 'not available', redis: 'is out of memory' }, [10, 24]), faults),
    ).toContain('/readyz said "not available" during mysql read-only');
  });

  it('is wrong when it says something without a fault, and once may be an accident', () => {
    const wrong = '/readyz said that mysql does not answer, without a fault';
    const late = { mysql: 'does not answer' };
    expect(findWrongStatements(saying(late, [0, 2]), [])).toEqual([wrong]);
    expect(findWrongStatements([...saying(late, [0, 1]), ...saying({}, [1, 5])], [])).toEqual([]);
    expect(findWrongStatements(saying(late, [60, 62]), [fault('mysql outage', [10, 24])])).toEqual([wrong]);
  });

  it('is wrong when status misses a process that nothing has stopped, such as after an outage of MySQL', () => {
    const said = saying({ source: 'status', problems: ['No process runs the role api.'] }, [25, 27]);
    expect(findWrongStatements(said, [fault('mysql outage', [10, 24])])).toHaveLength(1);
    expect(findWrongStatements(said, [fault('kill api', [20, 20])])).toEqual([]);
  });

  it('is wrong when status says nothing of clocks that differ, or something while they agree', () => {
    const clocks = { source: 'status', problems: ['The clock of api on a is 3600 s ahead of'] } as const;
    const apart = [fault('clocks apart', [10, 70])];
    expect(findWrongStatements(saying({ source: 'status' }, [30, 60]), apart)).not.toEqual([]);
    expect(findWrongStatements(saying(clocks, [30, 60]), apart)).toEqual([]);
    expect(findWrongStatements(saying(clocks, [30, 60]), [])).not.toEqual([]);
  });
});
