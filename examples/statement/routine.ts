import { ownParty } from './accounts.ts';
import type { Dice } from './dice.ts';
import type { Day, Write } from './draft.ts';
import type { Parties } from './parties.ts';

/** What happens every day, and on the same weekday of every week. */
export function writeRoutine(day: Day, write: Write, dice: Dice, { companies, foreign }: Parties): void {
  const { between, money, pick } = dice;
  writeCardSales(day, write, dice);
  if (!day.isWorkday) return;

  write(
    575,
    '1',
    'Debit',
    'EFT',
    money(60_000, 140_000),
    `EFT GİDEN HAMMADDE ${between(1000, 9999)}`,
    pick(companies),
  );
  if (day.weekday === 1) {
    const released = `POS BLOKE ÇÖZÜM ${day.dotted} BLOKELİ SATIŞ 28 GÜN`;
    write(545, '2', 'Credit', 'PBL', money(40_000, 160_000), released);
  }
  if (day.weekday === 2 || day.weekday === 5) {
    const moved = money(150_000, 290_000);
    write(600, '2', 'Debit', 'EFT', moved, 'EFT GİDEN KENDİ HESABINA AKTARIM', ownParty('1'));
    write(600, '2', 'Debit', 'KOM', 1_566n, 'EFT ÜCRETİ KOMİSYON');
    write(600, '2', 'Debit', 'BSMV', 78n, 'BSMV EFT ÜCRETİ');
    write(604, '1', 'Credit', 'EFT', moved, 'EFT GELEN KENDİ HESABINDAN AKTARIM', ownParty('2'));
  }
  if (day.weekday === 3) {
    const invoice = `SWIFT GELEN İHRACAT BEDELİ INV-${between(1000, 9999)}`;
    write(640, '3', 'Credit', 'SWF', money(4_000, 18_000), invoice, pick(foreign));
  }
  if (day.weekday === 4) sellEuro(write, dice);
}

/** The card terminal's closing of the day: sales, the bank's commission (1.79 %) and the tax on it (BSMV, 5 %). */
function writeCardSales({ dotted }: Day, write: Write, { between, money }: Dice): void {
  const closing = 23 * 60 + 30;
  const sales = money(18_000, 95_000);
  const commission = (sales * 179n) / 10_000n;
  const count = between(20, 90);
  write(closing, '2', 'Credit', 'POS', sales, `POS GÜN SONU ${dotted} ÜYE İŞYERİ 0099123 ADET ${count}`);
  write(closing, '2', 'Debit', 'KOM', commission, `POS KOMİSYON ${dotted} ORAN %1,79`);
  write(closing, '2', 'Debit', 'BSMV', (commission * 5n) / 100n, `BSMV POS KOMİSYON ${dotted}`);
}

function sellEuro(write: Write, { between, money }: Dice): void {
  const cents = money(2_000, 6_000);
  const rate = BigInt(between(484_000, 492_000)); // kuruş per 100 euro cents, with two more digits
  const text = `DÖVİZ SATIŞ VİRMAN ${withComma(cents, 2)} EUR KUR ${withComma(rate, 4)}`;
  write(690, '3', 'Debit', 'VRM', cents, text, ownParty('2'));
  write(690, '2', 'Credit', 'VRM', (cents * rate) / 10_000n, text, ownParty('3'));
}

/** 123456n with 2 places → "1.234,56", as Turkish banks write numbers in descriptions. */
function withComma(value: bigint, places: number): string {
  const digits = String(value).padStart(places + 1, '0');
  const whole = digits.slice(0, -places).replace(/\B(?=(\d{3})+$)/g, '.');
  return `${whole},${digits.slice(-places)}`;
}
