import type { Dice } from './dice.ts';
import { type Day, NOBODY, type Write } from './draft.ts';
import type { Parties, Party } from './parties.ts';

/** What falls on one date of the month: rent, wages, taxes, cheques, and what makes real statements awkward. */
export function writeOccasions(
  day: Day,
  write: Write,
  { money, between, pick }: Dice,
  parties: Parties,
): void {
  const { persons, companies } = parties;
  switch (day.dayOfMonth) {
    case 1:
      write(555, '1', 'Debit', 'KIRA', 8_500_000n, 'EKİM 2025 İŞYERİ KİRASI', persons[7]);
      write(556, '1', 'Debit', 'KIRA', 2_750_000n, 'EKİM 2025 DEPO KİRASI', persons[8]);
      write(560, '1', 'Credit', 'FAST', 75_000n, 'Doğum günü hediye sepeti 🎂 teşekkürler', persons[3]);
      write(561, '1', 'Credit', 'HVL', 1_234_567n, 'HAVALE "Sipariş No: 7\\8"\nikinci satır', companies[2]);
      write(562, '1', 'Credit', 'HVL', 420_000n, 'HAVALE GELEN FATURA ÖDEMESİ', companies[4], null);
      // Banks pass on what the sender typed: wrong check digits here, a digit lost on the 7th.
      write(570, '1', 'Debit', 'EFT', 310_050n, 'EFT GİDEN AMBALAJ', {
        ...(companies[1] ?? NOBODY),
        iban: 'TR000001000000099123456789',
      });
      break;
    case 7:
      write(571, '2', 'Credit', 'EFT', 96_500n, 'EFT GELEN CARİ HESAP', {
        ...(companies[9] ?? NOBODY),
        iban: 'TR12000460000009912345678',
      });
      break;
    case 8:
      sendTwice(write, companies[2]);
      break;
    case 10:
      write(610, '1', 'Debit', 'KK', 4_318_790n, 'KREDİ KARTI EKSTRE ÖDEMESİ **** 0042');
      write(611, '1', 'Debit', 'KK', 1_105_025n, 'KREDİ KARTI EKSTRE ÖDEMESİ **** 0077');
      write(612, '1', 'Debit', 'KOM', 0n, 'HESAP İŞLETİM ÜCRETİ KOMİSYON MUAFİYETİ');
      break;
    case 15:
      for (const person of persons.slice(10, 22)) {
        write(580, '1', 'Debit', 'MAAS', money(28_000, 54_000), 'EKİM 2025 MAAŞ ÖDEMESİ', person);
      }
      break;
    case 3:
    case 21: {
      const cheque = `TAKASTAN ÇEK ÖDEMESİ NO ${between(1_000_000, 9_999_999)}`;
      write(840, '1', 'Debit', 'CEK', money(30_000, 120_000), cheque, pick(companies));
      break;
    }
    case 14:
    case 24: {
      const cheque = `ÇEK TAHSİLATI NO ${between(1_000_000, 9_999_999)}`;
      write(840, '1', 'Credit', 'CEK', money(30_000, 120_000), cheque, pick(companies));
      break;
    }
    case 27:
      write(700, '1', 'Debit', 'VRG', 6_412_338n, 'VERGİ ÖDEMESİ KDV 2025/09');
      write(701, '1', 'Debit', 'VRG', 2_087_114n, 'VERGİ ÖDEMESİ MUHTASAR 2025/09');
      write(702, '1', 'Debit', 'SGK', 9_854_260n, 'SGK PRİM ÖDEMESİ 2025/09');
      break;
  }
}

/** Sent, sent back, sent again: the first and the third are equal in all that the bank tells, balance included. */
function sendTwice(write: Write, party: Party | undefined): void {
  const sent = () => write(665, '1', 'Debit', 'FAST', 184_000n, 'FAST GİDEN NAKLİYE BEDELİ', party, null);
  sent();
  write(665, '1', 'Credit', 'IAD', 184_000n, 'FAST İADE ALICI HESAP BULUNAMADI', party);
  sent();
}
