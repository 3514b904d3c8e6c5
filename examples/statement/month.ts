import type { AccountRef } from './accounts.ts';
import { createDice, type Dice } from './dice.ts';
import { type Day, type Draft, NOBODY, type Write } from './draft.ts';
import { writeOccasions } from './occasions.ts';
import { createParties, type Parties } from './parties.ts';
import { writeRoutine } from './routine.ts';

const FIRST_DAY = Date.UTC(2025, 9, 1);
const DAYS = 30;
const DAY = 24 * 60 * 60 * 1000;
const HOLIDAY = 29;

/** October 2025 of an invented olive company: `count` movements on three accounts, in the order of the statement. */
export function createMonth(count: number): Draft[] {
  const dice = createDice(20251001);
  const parties = createParties(dice);
  const drafts: Draft[] = [];
  const days = Array.from({ length: DAYS }, (_, at) => describeDay(new Date(FIRST_DAY + at * DAY)));
  const writeOn =
    (day: Day): Write =>
    (minute, ref, dc, code, kurus, description, party = NOBODY, noId) => {
      const draft: Draft = { ref, dc, code, kurus, description, date: day.iso, minute, party };
      drafts.push(noId === undefined ? draft : { ...draft, noId });
    };

  for (const day of days) {
    writeRoutine(day, writeOn(day), dice, parties);
    writeOccasions(day, writeOn(day), dice, parties);
  }
  for (let at = 0; drafts.length < count; at += 1) {
    const day = dice.pick(days);
    writeTransfer(day, writeOn(day), dice, parties, at);
  }
  return drafts.sort((a, b) => a.date.localeCompare(b.date) || a.minute - b.minute);
}

function describeDay(date: Date): Day {
  const iso = date.toISOString().slice(0, 10);
  const weekday = date.getUTCDay();
  const dayOfMonth = date.getUTCDate();
  const isWorkday = weekday !== 0 && weekday !== 6 && dayOfMonth !== HOLIDAY;
  return { iso, dotted: iso.split('-').reverse().join('.'), dayOfMonth, weekday, isWorkday };
}

/** One of the many small transfers of a month. Now and then the bank leaves out a name, an id or an IBAN. */
function writeTransfer(
  day: Day,
  write: Write,
  dice: Dice,
  { persons, companies }: Parties,
  at: number,
): void {
  const { random, between, money, pick } = dice;
  const ref = pick<AccountRef>(['1', '1', '2']);
  const isSent = ref === '1' && random() < 0.28;
  const code = day.isWorkday ? pick(['FAST', 'FAST', 'EFT', 'HVL']) : 'FAST';
  const known = pick(random() < 0.45 ? companies : persons);
  const party = {
    name: random() < 0.06 ? null : known.name,
    id: random() < 0.15 ? null : known.id,
    iban: random() < 0.08 ? null : known.iban,
  };
  const reason = pick([
    'SİPARİŞ',
    'FATURA',
    'CARİ HESAP',
    'zeytinyağı 5 lt',
    'ürün bedeli',
    'DANIŞMANLIK',
    'avans',
  ]);
  const text = `${code === 'HVL' ? 'HAVALE' : code} ${isSent ? 'GİDEN' : 'GELEN'} ${reason} ${between(1000, 9999)}`;
  const amount = code === 'EFT' ? money(2_000, 60_000) : money(80, isSent ? 9_000 : 14_000);
  const noId = at === 100 ? '' : at % 50 === 49 ? null : undefined;
  write(between(8 * 60, 22 * 60), ref, isSent ? 'Debit' : 'Credit', code, amount, text, party, noId);
}
