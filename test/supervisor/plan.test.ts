import { expect, it } from 'vitest';
import { ROLES } from '../../src/platform/config.ts';
import { decideRestart } from '../../src/supervisor/processes/process-group.ts';
import { defaultCount, planProcesses } from '../../src/supervisor/processes/role-process.ts';
import { countCores, quotaOf } from '../../src/supervisor/start-all.ts';

it('a single process has all roles, and two processes have half of them each', () => {
  expect(planProcesses(1)).toEqual([{ name: 'main', roles: ROLES }]);
  expect(planProcesses(2)).toEqual([
    { name: 'api-1', roles: ['api', 'importer'] },
    { name: 'delivery-1', roles: ['delivery', 'maintenance'] },
  ]);
});

it('the default is a process per core, four at most', () => {
  expect([1, 2, 3, 4, 5, 64].map(defaultCount)).toEqual([1, 2, 3, 4, 4, 4]);
});

it('every role is there with any number of processes, maintenance once, and each process name once', () => {
  for (let count = 1; count <= 64; count += 1) {
    const plans = planProcesses(count);
    expect(plans).toHaveLength(count);
    expect(new Set(plans.map(({ name }) => name)).size).toBe(count);
    const roles = plans.flatMap((plan) => plan.roles);
    for (const role of ROLES) expect(roles).toContain(role);
    expect(roles.filter((role) => role === 'maintenance')).toHaveLength(1);
  }
});

it.each([
  ['max 100000', Number.POSITIVE_INFINITY],
  ['-1 100000', Number.POSITIVE_INFINITY],
  ['200000 100000', 2],
  ['150000 100000\n', 1.5],
  ['', Number.POSITIVE_INFINITY],
])('the limit %j of a control group is %d cores', (text, cores) => {
  expect(quotaOf(text)).toBe(cores);
});

it('a process may use at least one core', () => {
  expect(countCores()).toBeGreaterThanOrEqual(1);
});

const died = (...seconds: number[]) => seconds.map((at) => ({ at: at * 1_000, atStart: false }));

it.each([
  ['the first time, after half a second', died(100), 500],
  ['the second time within a minute, after a second', died(90, 100), 1_000],
  ['the fourth time within a minute, after four seconds', died(70, 80, 90, 100), 4_000],
  ['again a minute later, after half a second', died(40, 100), 500],
  ['again and again, after thirty seconds at most', died(91, 92, 93, 94, 95, 96, 97, 98, 99, 100), 30_000],
])('a dead process is started again: %s', (_, deaths, pause) => {
  expect(decideRestart(deaths, 100_000)).toBe(pause);
});

it('a process that dies five times in a minute before it is ready is given up', () => {
  const deaths = died(60, 70, 80, 90, 100).map((death) => ({ ...death, atStart: true }));
  expect(decideRestart(deaths, 100_000)).toBe('give up');
  expect(decideRestart(deaths.slice(1), 100_000)).toBe(4_000);
  expect(decideRestart(deaths, 120_001)).toBe(4_000);
});
