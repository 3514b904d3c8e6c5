import type { Dice } from './dice.ts';

/** Who the invented company deals with. Bank names and codes are real; every person, company and number is made up. */
export interface Party {
  name: string | null;
  id: string | null;
  iban: string | null;
}

/** An IBAN with the check digits of ISO 13616 (mod 97). */
export function iban(country: string, account: string): string {
  const digits = [...`${account}${country}00`].map((character) => Number.parseInt(character, 36)).join('');
  return `${country}${String(98n - (BigInt(digits) % 97n)).padStart(2, '0')}${account}`;
}

const COMPANIES = [
  'Gökçınar Ambalaj San. ve Tic. A.Ş.',
  'Üçdüğme Tekstil Ltd. Şti.',
  'Şimşekyol Lojistik A.Ş.',
  'İncirdibi Gıda Pazarlama Ltd. Şti.',
  'Çayırkuşu Organik Ürünler A.Ş.',
  'Öğleüstü Kahvecilik Tic. Ltd. Şti.',
  'Ağustosböceği Reklam Ajansı Ltd. Şti.',
  'Yağmurluk Şemsiye İmalat San. A.Ş.',
  'Düşbahçe Oyuncak Dağıtım Ltd. Şti.',
  'Ilıksu Temizlik Hizmetleri A.Ş.',
  'Karabaşak Un Değirmeni Koll. Şti.',
  'Mavişişe Cam ve Züccaciye Ltd. Şti.',
];
const FIRST_NAMES = [
  'Ayşegül',
  'İbrahim',
  'Şükrü',
  'Gülşen',
  'Çağrı',
  'Öykü',
  'Uğur',
  'Müjde',
  'Işıl',
  'Doğan',
];
const LAST_NAMES = ['Örneksoy', 'Denemegil', 'Uydurukçu', 'Kurmacaoğlu', 'Sözdeğer', 'Şakacıtürk'];
const BANK_CODES = ['00010', '00012', '00015', '00046', '00062', '00064', '00067', '00111', '00134'];

export interface Parties {
  persons: Party[];
  companies: Party[];
  foreign: Party[];
}

/** The parties by kind; ids have the length of the real ones and a wrong check digit, so that they are nobody's. */
export function createParties({ between, pick }: Dice): Parties {
  const digits = (count: number) => Array.from({ length: count }, () => between(0, 9));
  const account = () => iban('TR', `${pick(BANK_CODES)}00000099${digits(9).join('')}`);
  const persons = FIRST_NAMES.flatMap((first) =>
    LAST_NAMES.map((last): Party => ({ name: `${first} ${last}`, id: personId(digits(9)), iban: account() })),
  );
  const companies = COMPANIES.map((name): Party => ({ name, id: companyId(digits(9)), iban: account() }));
  const foreign = [
    { name: 'Beispiel Feinkost GmbH', id: null, iban: iban('DE', `1002003000${digits(8).join('')}`) },
    { name: 'Voorbeeld Delicatessen B.V.', id: null, iban: iban('NL', `ABNA00${digits(8).join('')}`) },
    {
      name: 'Épicerie Imaginaire SARL',
      id: null,
      iban: iban('FR', `20041010050500013M026${digits(2).join('')}`),
    },
  ];
  return { persons, companies, foreign };
}

/** Eleven digits like a TCKN, whose last digit should be the sum of the ten before it, modulo 10, and is not. */
function personId(nine: number[]): string {
  const ten = [...nine.map((digit, at) => (at === 0 && digit === 0 ? 1 : digit)), 4];
  return [...ten, (ten.reduce((sum, digit) => sum + digit, 0) + 5) % 10].join('');
}

/** Ten digits like a VKN with its check digit put off by five. */
function companyId(nine: number[]): string {
  const sum = nine.reduce((total, digit, at) => {
    const shifted = (digit + 9 - at) % 10;
    return total + (shifted === 9 ? 9 : (shifted * 2 ** (9 - at)) % 9);
  }, 0);
  return [...nine, (10 - (sum % 10) + 5) % 10].join('');
}
