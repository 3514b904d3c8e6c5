/** What a type code of a transaction detail says. `summary` and `status` codes belong into account records only. */
export type TypeCodeMeaning = 'Credit' | 'Debit' | 'summary' | 'status' | 'information' | 'unknown';

/** Codes above 100 that stand for sums (BAI2 specification, appendix A: level "Summary" or "Status"). */
const SUMMARIES = new Set(
  (
    '100 101 105 106 107 109 110 120 130 131 140 146 150 160 162 163 167 170 178 180 182 185 186 188 190 200 205 207 210 215 230 231 ' +
    '239 245 250 251 256 260 270 271 280 285 294 302 303 304 305 307 309 310 315 316 318 319 320 321 324 325 326 327 328 329 330 332 ' +
    '336 338 340 341 343 350 352 355 356 360 361 370 385 389 390 400 401 403 405 406 410 412 416 420 430 446 450 463 465 467 470 471 ' +
    '478 480 482 486 490 500 505 507 510 515 530 532 534 536 537 539 550 551 556 560 570 580 583 584 585 586 587 588 590 594 596 601 ' +
    '602 610 611 612 613 614 615 617 618 621 623 625 626 628 630 632 640 646 650 655 665 670 685 689 690 701 703 705 707 709 720 760'
  ).split(' '),
);

/**
 * Reads a type code (BAI2 specification, "Type Code Ranges" and appendix A). Codes from 900 on are agreed between a bank and its
 * customer, within ranges. Of the loan codes, 721 to 728 are payments.
 */
export function meaningOf(typeCode: string): TypeCodeMeaning {
  if (!/^\d{3}$/.test(typeCode)) return 'unknown';
  if (SUMMARIES.has(typeCode)) return 'summary';
  const code = Number(typeCode);
  if (code === 890) return 'information';
  if (code < 100 || (code >= 900 && code < 920)) return 'status';
  if (code < 400 || (code >= 721 && code <= 728) || (code >= 920 && code < 960)) return 'Credit';
  return code < 700 || code >= 960 ? 'Debit' : 'unknown';
}
