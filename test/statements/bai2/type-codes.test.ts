import { expect, it } from 'vitest';
import { inAccount, read } from './records.ts';

/** The sums of appendix A of the specification (levels "Summary" and "Status"). */
const SUMS = new Set(
  `
    100, 101, 105, 106, 107, 109, 110, 120, 130, 131, 140, 146, 150, 160, 162, 163, 167, 170, 178, 180,
    182, 185, 186, 188, 190, 200, 205, 207, 210, 215, 230, 231, 239, 245, 250, 251, 256, 260, 270, 271,
    280, 285, 294, 302, 303, 304, 305, 307, 309, 310, 315, 316, 318, 319, 320, 321, 324, 325, 326, 327,
    328, 329, 330, 332, 336, 338, 340, 341, 343, 350, 352, 355, 356, 360, 361, 370, 385, 389, 390, 400,
    401, 403, 405, 406, 410, 412, 416, 420, 430, 446, 450, 463, 465, 467, 470, 471, 478, 480, 482, 486,
    490, 500, 505, 507, 510, 515, 530, 532, 534, 536, 537, 539, 550, 551, 556, 560, 570, 580, 583, 584,
    585, 586, 587, 588, 590, 594, 596, 601, 602, 610, 611, 612, 613, 614, 615, 617, 618, 621, 623, 625,
    626, 628, 630, 632, 640, 646, 650, 655, 665, 670, 685, 689, 690, 701, 703, 705, 707, 709, 720, 760`
    .split(',')
    .map((code) => code.trim()),
);

/** What docs/formats/bai2.md says of a type code. */
function resultOf(code: number): string {
  const isIn = (first: number, last: number) => code >= first && code <= last;
  if (SUMS.has(String(code))) return 'issue';
  if (code === 890) return 'nothing';
  if (isIn(101, 399) || isIn(920, 959) || isIn(721, 728)) return 'Credit';
  return isIn(401, 699) || isIn(960, 999) ? 'Debit' : 'issue';
}

const CODES = Array.from({ length: 1000 }, (_, code) => code);

it('each type code of a BAI2 transaction is a credit, a debit, information or refused, as the page of the format says', async () => {
  const events = await read(
    inAccount(CODES.map((code) => `16,${String(code).padStart(3, '0')},${code}`).join('\n')),
  );
  const found = new Map(
    events.flatMap((event): [number, string][] => {
      if (event.type === 'entry') return [[event.entry.line, event.entry.dc]];
      return event.type === 'issue' ? [[event.line, event.path === 'type code' ? 'issue' : event.path]] : [];
    }),
  );
  expect(SUMS.size).toBe(160);
  expect(CODES.map((code) => `${code} ${found.get(code + 4) ?? 'nothing'}`)).toEqual(
    CODES.map((code) => `${code} ${resultOf(code)}`),
  );
});
