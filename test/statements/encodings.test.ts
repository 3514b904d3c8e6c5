import { describe, expect, it } from 'vitest';
import { createByteDecoder, isEncoding } from '../../packages/statements/src/encodings.ts';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { detectEncoding } from '../../packages/statements/src/shared/detect-encoding.ts';

/** Texts of payments by language, and the encodings in which banks of these countries write them. */
const CENTRAL = ['windows-1250', 'iso-8859-2', 'ibm852'];
const WESTERN = ['windows-1252', 'iso-8859-15', 'ibm850'];
const TEXTS: readonly (readonly [language: string, encodings: readonly string[], text: string])[] = [
  [
    'Polish',
    CENTRAL,
    'Przelew przychodzący od Zakład Usług Gospodarczych Spółka z ograniczoną odpowiedzialnością, zapłata za fakturę numer, Łódź ulica Świętokrzyska, opłata miesięczna za prowadzenie rachunku, składki na ubezpieczenie społeczne, wynagrodzenie za październik dla Małgorzata Wójcik, zwrot nadpłaconej należności, spłata pożyczki gotówkowej, płatność kartą w sklepie spożywczym Żabka przy ulicy Źródlanej',
  ],
  [
    'Czech',
    CENTRAL,
    'Příchozí úhrada za nájemné a služby, platba kartou u obchodníka v Českých Budějovicích, měsíční poplatek za vedení účtu, vyúčtování elektřiny a plynu, výplata mzdy za říjen pro Jiří Dvořák, splátka úvěru, pojištění domácnosti, převod na spořicí účet, vrácení přeplatku od společnosti Pražská energetika, nákup potravin ve městě Plzeň, úrok z běžného účtu, dobíjení telefonu',
  ],
  [
    'Slovak',
    CENTRAL,
    'Došlá platba za prenájom kancelárie, mesačný poplatok za vedenie účtu, výplata mzdy za mesiac október pre Ľubomír Šťastný, splátka úveru, poistenie domácnosti, vrátenie preplatku za elektrinu, nákup potravín v obchode v Košiciach, prevod na sporiaci účet, úhrada faktúry za stavebné práce, dôchodok zo Sociálnej poisťovne, členský príspevok, školné za ďalší polrok, príjem z podnikania',
  ],
  [
    'Hungarian',
    CENTRAL,
    'Csoportos átutalás jóváírása, havi számlavezetési díj, bankkártyás vásárlás a győri üzletben, munkabér október hónapra Szűcs Erzsébet részére, közüzemi díjak kiegyenlítése, hitel törlesztése, lakásbiztosítás díja, árvíztűrő termékek beszerzése, készpénzfelvétel a pénzváltónál, kötelező gépjármű felelősségbiztosítás, előleg visszafizetése, bérleti díj a belvárosi irodáért, önkormányzati adó',
  ],
  [
    'Croatian',
    CENTRAL,
    'Uplata po računu za mjesečnu najamninu, plaća za listopad radniku Željko Čačić, naknada za vođenje računa, kupovina namirnica u dućanu u Šibeniku, povrat više uplaćenih sredstava, otplata kredita, osiguranje kućanstva, trošak platnog prometa, uplata članarine društva, račun za električnu energiju, bankomat na željezničkom kolodvoru, prijenos na štedni račun, doprinosi za mirovinsko osiguranje, kamate na oročena sredstva, plaćanje računa za čišćenje',
  ],
  [
    'Romanian',
    CENTRAL,
    'Plată factură pentru servicii de curăţenie, salariu pe luna octombrie pentru Ştefan Bălănescu, comision de administrare a contului, încasare de la societatea comercială, rambursare împrumut, asigurare locuinţă, cheltuieli de întreţinere, cumpărături la magazinul din Timişoara, transfer în contul de economii, restituire diferenţă de plată, chirie pentru spaţiul comercial, dobândă, taxă judiciară, înregistrare contract, şcoală',
  ],
  [
    'Turkish',
    ['windows-1254', 'ibm857'],
    'Gelen havale, işyeri kirası için ödeme, Ekim ayı maaş ödemesi Şükrü Özgür İnce, aylık hesap işletim ücreti, kredi taksidi, konut sigortası, elektrik ve doğalgaz faturası, market alışverişi Beşiktaş şubesi, fazla ödemenin iadesi, vergi dairesi tahsilatı, yurtdışı çıkış harcı, mevduat faizi, çek karşılığı, güneşli günler kırtasiye, bağış ve aidat, müşteri numarası, ğ harfi olmayan değişik sözcükler',
  ],
  [
    'German',
    WESTERN,
    'Gutschrift Überweisung für Müller und Söhne, monatliche Kontoführungsgebühr, Lohn für Oktober an Jörg Größer, Rückzahlung der überzahlten Beiträge, Miete für das Büro in München, Stromabschlag der Stadtwerke Köln, Versicherungsprämie für den Haushalt, Einkauf beim Bäcker in der Königstraße, Zinsen auf das Tagesgeld, Gebühr für Auslandseinsatz, Spende für das Jugendhaus, Steuernachzahlung, Löschung der Bürgschaft',
  ],
  [
    'French',
    WESTERN,
    'Virement reçu de la société générale de bâtiment, prélèvement mensuel pour l électricité, salaire du mois de février pour Hélène Lefèvre, remboursement du prêt immobilier, cotisation à la sécurité sociale, achat à la boulangerie près de la gare, frais de tenue de compte, intérêts créditeurs, loyer du siège à Orléans, règlement de la facture numéro, dépôt de chèque, réservation d hôtel à Nîmes, pièces détachées',
  ],
  [
    'Spanish',
    ['windows-1252', 'ibm850'],
    'Transferencia recibida de la compañía eléctrica, nómina del mes de octubre para José Ibáñez, comisión de mantenimiento de la cuenta, devolución del préstamo, seguro de hogar, compra en la panadería de la estación, alquiler de la oficina en Málaga, liquidación de intereses, cotización a la seguridad social, recibo del teléfono móvil, pago de la factura número, matrícula del próximo año, donación a la fundación, suscripción anual',
  ],
  [
    'Swedish',
    ['windows-1252', 'ibm850'],
    'Insättning från försäkringskassan, månadsavgift för kontot, lön för oktober till Åsa Sjöström, återbetalning av lån, hemförsäkring, köp i bageriet på Östermalm, hyra för kontoret i Göteborg, ränta på sparkontot, avgift till föreningen, betalning av räkning för el och värme, överföring till eget konto, skatt på näringsverksamhet, gåva till hjälporganisation, böcker från förlaget, tågbiljett från Malmö, uttag i automat',
  ],
  [
    'Russian',
    ['windows-1251', 'ibm866', 'koi8-u'],
    'Поступление по договору аренды помещения, заработная плата за октябрь, комиссия за ведение счёта, возврат излишне уплаченной суммы, оплата по счёту за строительные материалы, покупка продуктов в магазине, погашение кредита, перечисление страховых взносов, проценты по вкладу, налог на добавленную стоимость, услуги связи и интернет, командировочные расходы сотрудника, подписка на журнал',
  ],
  [
    'Bulgarian',
    ['windows-1251'],
    'Получен превод по фактура за строителни услуги, месечна такса за обслужване на сметка, работна заплата за октомври, погасяване на кредит, застраховка на жилището, покупка от магазин в Пловдив, наем за офис, връщане на надплатена сума, лихва по депозит, осигурителни вноски, данък върху добавената стойност, плащане за електричество и парно, дарение за училището',
  ],
  [
    'Greek',
    ['windows-1253', 'iso-8859-7'],
    'Πληρωμή ενοικίου για το κατάστημα, μισθοδοσία Οκτωβρίου, προμήθεια τήρησης λογαριασμού, επιστροφή χρημάτων από την εταιρεία, δόση δανείου, ασφάλεια κατοικίας, αγορά τροφίμων από το φούρνο, λογαριασμός ηλεκτρικού ρεύματος, τόκοι καταθέσεων, ασφαλιστικές εισφορές, φόρος προστιθέμενης αξίας, μεταφορά σε άλλο λογαριασμό, δωρεά στο σχολείο, έξοδα ταξιδιού',
  ],
];

/** Encodes a text. @returns null if the encoding does not have all its characters */
function encode(text: string, label: string): Uint8Array | null {
  const table = Array.from({ length: 256 }, (_, byte) =>
    createByteDecoder(label).decode(Uint8Array.of(byte)),
  );
  const bytes = [...text].map((character) => table.indexOf(character));
  return bytes.includes(-1) ? null : Uint8Array.from(bytes);
}

/** All parts of a text that begin with a word and have at least so many letters. */
function partsOf(text: string, letters: number): string[] {
  const words = text.split(' ');
  return words.flatMap((_, from) => {
    for (let to = from + 1; to <= words.length; to += 1) {
      const part = words.slice(from, to).join(' ');
      if ((part.match(/\p{L}/gu)?.length ?? 0) >= letters) return [part];
    }
    return [];
  });
}

const withoutCapitals = (text: string) =>
  text
    .normalize('NFD')
    .replaceAll(/(?<=[Α-ω])\u0301/gu, '')
    .normalize('NFC');
/** As it is, and in capitals. Greek has no accents in capitals. */
const stylesOf = (text: string): string[] => [
  text,
  withoutCapitals(text).toLocaleUpperCase(/ş/.test(text) && /ğ/.test(text) ? 'tr' : 'en'),
];

interface Result {
  part: string;
  isRight: boolean;
  isCertain: boolean;
}

function tryParts(text: string, label: string, letters: number): Result[] {
  return stylesOf(text)
    .flatMap((it) => partsOf(it, letters))
    .flatMap((part) => {
      const bytes = encode(part, label);
      if (bytes === null || bytes.every((byte) => byte < 0x80)) return [];
      const { encoding, alternatives } = detectEncoding(bytes, new Uint8Array());
      const isRight = createByteDecoder(encoding).decode(bytes) === part;
      return [{ part, isRight, isCertain: alternatives.length === 0 }];
    });
}

const CASES = TEXTS.flatMap(([language, encodings, text]) =>
  encodings.map((label) => ({ language, label, text })),
);

describe('the encoding of a text without a mark', () => {
  it.each(CASES)('is right or in doubt from 20 letters on: $language in $label', ({ text, label }) => {
    const wrong = tryParts(text, label, 20).filter((it) => !it.isRight && it.isCertain);
    expect(wrong).toEqual([]);
  });

  it.each(CASES)(
    'is right without a doubt from 200 letters on, in 95 of 100: $language in $label',
    ({ text, label }) => {
      const results = tryParts(text, label, 200);
      const right = results.filter((it) => it.isRight && it.isCertain);
      expect(results.length).toBeGreaterThan(10);
      expect(right.length / results.length).toBeGreaterThanOrEqual(0.95);
    },
  );
});

describe('a statement in an encoding without a mark', () => {
  const formats = createStatementFormats([]);
  const file = (iban: string, text: string, label: string) => {
    const head = `:20:A\r\n:25:${iban}\r\n:28C:1/1\r\n:60F:C260302EUR1,\r\n:61:2603020302C1,00NTRFNONREF\r\n:86:`;
    return Buffer.concat([
      Buffer.from(head),
      encode(text, label) ?? Buffer.alloc(0),
      Buffer.from('\r\n:62F:C260302EUR2,\r\n-\r\n'),
    ]);
  };
  async function read(bytes: Uint8Array, encoding: string | null = null) {
    async function* parts() {
      yield bytes;
    }
    const found = { texts: [] as (string | null)[], warnings: [] as string[] };
    for await (const it of formats.read(parts(), { format: 'auto', profile: null, encoding })) {
      if (!('events' in it)) continue;
      for (const event of it.events) {
        if (event.type === 'entry') found.texts.push(event.entry.description);
        if (event.type === 'warning') found.warnings.push(event.message);
      }
    }
    return found;
  }
  const TURKEY = 'TR330006100519786457841326';
  const POLAND = 'PL61109010140000071219812874';

  it('has a warning with the encodings that may be meant, if two give different texts', async () => {
    const { warnings } = await read(file('12345', 'b\u00e8', 'windows-1252'));
    expect(warnings).toEqual([
      expect.stringMatching(
        /^The encoding of the text is not certain\. The text is read as .*windows-125\d.* may be meant too\./,
      ),
    ]);
  });

  it('is read by the country of its account, if the letters do not decide', async () => {
    expect((await read(file(POLAND, 'ABC Łe', 'windows-1250'))).texts).toEqual(['ABC Łe']);
    expect((await read(file(TURKEY, 'şe', 'windows-1254'))).texts).toEqual(['şe']);
    expect((await read(file(POLAND, 'şe', 'windows-1250'))).texts).toEqual(['şe']);
  });

  it('is read in the encoding that the reader names, without a warning', async () => {
    for (const label of ['windows-1252', 'windows-1250', 'ibm852', 'ibm850'])
      expect(await read(file('12345', 'bé', label), label)).toEqual({ texts: ['bé'], warnings: [] });
    const utf8 = file('12345', 'x', 'windows-1252').toString().replace('86:x', '86:Łódź');
    expect(await read(Buffer.from(utf8), 'ibm852')).toEqual({ texts: ['Łódź'], warnings: [] });
  });

  it('has no warning if all its letters are the same in all encodings that may be meant', async () => {
    expect(await read(file('12345', 'Müller', 'windows-1252'))).toEqual({ texts: ['Müller'], warnings: [] });
  });

  it('has a warning if a letter that decides comes after the encoding was chosen', async () => {
    const german = TEXTS.find(([language]) => language === 'German')?.[2] ?? '';
    const many = 'Müller und Söhne, Miete für das Büro '.repeat(10_000);
    const early = await read(file('12345', many + german, 'windows-1252'));
    expect(early.warnings.filter((it) => it.includes('encoding'))).toEqual([]);
    const late = await read(file('12345', `${many} Zakład Usług Świętokrzyska zapłata ąęśź`, 'windows-1250'));
    expect(late.warnings.filter((it) => it.includes('encoding'))).toHaveLength(1);
  });
});

it.each(['windows-1250', 'iso-8859-2', 'ibm852', 'CP852', 'cp850', 'IBM857', 'koi8-u'])(
  '%s is an encoding',
  (label) => {
    expect(isEncoding(label)).toBe(true);
  },
);

it.each(['klingon', 'cp1', ''])('"%s" is no encoding', (label) => {
  expect(isEncoding(label)).toBe(false);
});
