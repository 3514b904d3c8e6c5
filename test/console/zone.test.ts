import { expect, it } from 'vitest';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

const page = async (cookie?: string) => {
  const headers = { Accept: 'text/html', ...(cookie === undefined ? {} : { Cookie: cookie }) };
  return String((await service.callOps('GET', '/ops/audit?customer=1', { headers })).body);
};

it('the console shows times in UTC, or in the zone of the service if its reader has chosen that, and names it', async () => {
  const first = await page();
  expect(first).toContain('times are UTC');
  const [, href = ''] = /href="(\/ops\/zone[^"]*)">show them in \+03</.exec(first) ?? [];
  const { status, headers } = await service.callOps('GET', href.replaceAll('&amp;', '&'));
  expect([status, headers.get('location')]).toEqual([302, '/ops/audit?customer=1']);
  const [cookie = ''] = headers.get('set-cookie')?.split(';') ?? [];
  const again = await page(cookie);
  expect(again).toContain('times are +03');
  expect(again).toContain('show them in UTC');
});

it('the page to which a reader returns is one of the console', async () => {
  for (const back of ['https://evil.example/', '//evil.example', '/opsx', '']) {
    const path = `/ops/zone?to=own&back=${encodeURIComponent(back)}`;
    expect((await service.callOps('GET', path)).headers.get('location')).toBe('/ops');
  }
});
