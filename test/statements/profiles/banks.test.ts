import { describe, expect, it } from 'vitest';
import { createStatementFormats } from '../../../packages/statements/src/formats.ts';
import type { EntryDetails, StatementEvent } from '../../../packages/statements/src/statement.ts';
import { READ_SETTINGS } from '../../../src/intake/advice.ts';
import { loadProfiles } from '../../../src/intake/load-profiles.ts';
import { balanceDifferences } from '../statement-events.ts';
import { entriesOf, show } from './events.ts';

/** Exports of banks in the forms that docs/formats/csv.md names. All names, accounts and amounts are made up. */

const formats = createStatementFormats(loadProfiles(undefined), READ_SETTINGS);

/** Reads a file that is recognised by its headings. */
async function read(...lines: string[]): Promise<StatementEvent[]> {
  const start = Buffer.from(`${lines.join('\n')}\n`);
  async function* bytes() {
    yield start;
  }
  const events: StatementEvent[] = [];
  for await (const some of formats.parse({ start, bytes: bytes() }, formats.detect(start) ?? 'mt940', null))
    events.push(...some);
  return events;
}

/** Entries, and what else a reader of the file has to know, each on one line. */
const tell = (events: readonly StatementEvent[]): string[] =>
  events.flatMap((event) => {
    if (event.type === 'entry') return [show(event.entry)];
    if (event.type === 'warning') return [`warning: ${event.message}`];
    return event.type === 'issue' ? [`issue: ${event.message}`] : [];
  });

interface Export {
  name: string;
  lines: string[];
  account: string | null;
  rows: string[];
  details?: EntryDetails;
  /** The file has an opening and a closing balance. */
  isBalanced?: true;
}

const IBAN = 'DE89370400440532013000';
const NL_IBAN = 'NL91ABNA0417164300';

const ING_EN = [
  'Date',
  'Name / Description',
  'Account',
  'Counterparty',
  'Code',
  'Debit/credit',
  'Amount (EUR)',
  'Transaction type',
  'Notifications',
];
const ING_NL = [
  'Datum',
  'Naam / Omschrijving',
  'Rekening',
  'Tegenrekening',
  'Code',
  'Af Bij',
  'Bedrag (EUR)',
  'MutatieSoort',
  'Mededelingen',
];
const ING_ROW = (dc: string) => ['20260901', 'Bakery', NL_IBAN, '', 'BA', dc, '3,50', 'Terminal', 'Card 003'];
const BUNQ_EN = ['Date', 'Interest Date', 'Amount', 'Account', 'Counterparty', 'Name', 'Description'];
const BUNQ_ROW = (date: string) => [date, date, '-20,54', NL_IBAN, '', 'Bakery', 'Bread'];

const quoted = (delimiter: string, cells: readonly string[]) =>
  cells.map((cell) => `"${cell}"`).join(delimiter);

const DKB_CARD = (amount: string, card: string, last: string): string[] => [
  `"Karte";${card}`,
  '""',
  '"Saldo vom 30.09.2026:";"--42,00 EUR"',
  '""',
  `"Belegdatum";"Wertstellung";"Status";"Beschreibung";"Umsatztyp";"${amount}";"Fremdwährungsbetrag"`,
  '"29.09.26";"";"Vorgemerkt";"Kiosk";"Im Geschäft";"-7,3";""',
  last,
];

const EXPORTS: Export[] = [
  {
    name: 'N26 since 2024',
    lines: [
      '"Booking Date","Value Date","Partner Name","Partner Iban",Type,"Payment Reference","Account Name","Amount (EUR)","Original Amount","Original Currency","Exchange Rate"',
      `2026-09-02,2026-09-03,"Stadtwerke, Muster",${IBAN},"Debit Transfer",Abschlag,"Main Account",-45.2,,,`,
      '2026-09-02,2026-09-02,Kiosk,,Presentment,,"Main Account",-3.50,3.5,EUR,1',
    ],
    account: null,
    rows: [
      `2026-09-02 Debit 45.20 | Debit Transfer | Abschlag | Stadtwerke, Muster | ${IBAN}`,
      '2026-09-02 Debit 3.50 | Presentment | Kiosk',
    ],
    details: { valueDate: '2026-09-03' },
  },
  {
    name: 'CSV-CAMT of a Sparkasse',
    lines: [
      '"Auftragskonto";"Buchungstag";"Valutadatum";"Buchungstext";"Verwendungszweck";"Glaeubiger ID";"Mandatsreferenz";"Kundenreferenz (End-to-End)";"Sammlerreferenz";"Lastschrift Ursprungsbetrag";"Auslagenersatz Ruecklastschrift";"Beguenstigter/Zahlungspflichtiger";"Kontonummer/IBAN";"BIC (SWIFT-Code)";"Betrag";"Waehrung";"Info"',
      `"${IBAN}";"04.09.26";"05.09.26";"FOLGELASTSCHRIFT";"Beitrag";"DE98ZZZ09999999999";"M-7";"E-7";"";"";"";"Verein";"DE02120300000000202051";"BYLADEM1001";"-12,50";"EUR";"Umsatz gebucht"`,
      `"${IBAN}";"";"";"KARTENZAHLUNG";"Kiosk";"";"";"";"";"";"";"";"";"";"-3,00";"EUR";"Umsatz vorgemerkt"`,
    ],
    account: IBAN,
    rows: [
      '2026-09-04 Debit 12.50 | EUR | FOLGELASTSCHRIFT | Beitrag | Verein | DE02120300000000202051',
      'warning: pending rows without a date or an amount are left out: 1',
    ],
    details: { valueDate: '2026-09-05', endToEndId: 'E-7', mandateReference: 'M-7' },
  },
  ...[';', ','].flatMap((delimiter): Export[] => [
    {
      name: `ING (Netherlands) in English with ${delimiter}`,
      lines: [
        quoted(delimiter, [...ING_EN, 'Resulting balance', 'Tag']),
        quoted(delimiter, [...ING_ROW('Debit'), '96,50', '']),
      ],
      account: NL_IBAN,
      rows: ['2026-09-01 Debit 3.50 = 96.50 | Terminal | Card 003 | Bakery'],
    },
    {
      name: `ING (Netherlands) in Dutch with ${delimiter}`,
      lines: [quoted(delimiter, ING_NL), quoted(delimiter, ING_ROW('Bij'))],
      account: NL_IBAN,
      rows: ['2026-09-01 Credit 3.50 | Terminal | Card 003 | Bakery'],
    },
    {
      name: `bunq in English with ${delimiter}`,
      lines: [quoted(delimiter, BUNQ_EN), quoted(delimiter, BUNQ_ROW('2026-09-01'))],
      account: NL_IBAN,
      rows: ['2026-09-01 Debit 20.54 | Bread | Bakery'],
      details: { valueDate: '2026-09-01' },
    },
  ]),
  {
    name: 'bunq in English with the day first',
    lines: [quoted(',', BUNQ_EN), quoted(',', BUNQ_ROW('21/10/2026'))],
    account: NL_IBAN,
    rows: ['2026-10-21 Debit 20.54 | Bread | Bakery'],
    details: { valueDate: '2026-10-21' },
  },
  {
    name: 'an account of DKB, with pending rows with and without a date',
    lines: [
      `"Girokonto u18";"${IBAN}"`,
      '"Buchungsdatum";"Wertstellung";"Status";"Zahlungspflichtige*r";"Zahlungsempfänger*in";"Verwendungszweck";"Umsatztyp";"IBAN";"Betrag (€)";"Gläubiger-ID";"Mandatsreferenz";"Kundenreferenz"',
      '"";"";"Vorgemerkt";"Erika";"Kiosk";"";"Ausgang";"";"-9,1";"";"";""',
      '"";"";"Vorgemerkt";"Erika";"Kino";"";"Ausgang";"";"-8,1";"";"";""',
      '"09.09.26";"";"Vorgemerkt";"Erika";"Bahn";"";"Ausgang";"";"-7";"";"";""',
      '"08.09.26";"08.09.26";"Gebucht";"Erika";"Verein";"Beitrag";"Ausgang";"DE02120300000000202051";"-21,8";"DE98ZZZ";"M-1";"K-1"',
    ],
    account: IBAN,
    rows: [
      '2026-09-09 Debit 7.00 | pending | Ausgang | Bahn',
      '2026-09-08 Debit 21.80 | Ausgang | Beitrag | Verein | DE02120300000000202051 | K-1',
      'warning: pending rows without a date or an amount are left out: 2',
    ],
    details: { valueDate: '2026-09-08', mandateReference: 'M-1' },
  },
  {
    name: 'an account of DKB, with "Betrag" and commas',
    lines: [
      quoted(',', ['Tagesgeld', IBAN]),
      '"Buchungsdatum","Wertstellung","Status","Zahlungspflichtige*r","Zahlungsempfänger*in","Verwendungszweck","Umsatztyp","Betrag","Gläubiger-ID","Mandatsreferenz","Kundenreferenz"',
      '"08.09.26","08.09.26","Gebucht","Firma","Erika","Lohn","Eingang","1.000,00 €","","",""',
    ],
    account: IBAN,
    rows: ['2026-09-08 Credit 1000.00 | Eingang | Lohn | Firma'],
    details: { valueDate: '2026-09-08' },
  },
  {
    name: 'an account of DKB before 2023',
    lines: [
      `"Kontonummer:";"${IBAN} / Girokonto";`,
      '"Buchungstag";"Wertstellung";"Buchungstext";"Auftraggeber / Begünstigter";"Verwendungszweck";"Kontonummer";"BLZ";"Betrag (EUR)";"Gläubiger-ID";"Mandatsreferenz";"Kundenreferenz";',
      '"08.09.2022";"09.09.2022";"Lastschrift";"Verein";"Beitrag";"DE02120300000000202051";"BYLADEM1001";"-5,00";"DE98ZZZ";"M-1";"K-1";',
    ],
    account: IBAN,
    rows: ['2022-09-08 Debit 5.00 | Lastschrift | Beitrag | Verein | DE02120300000000202051 | K-1'],
    details: { valueDate: '2022-09-09', mandateReference: 'M-1' },
  },
  {
    name: 'a card of DKB',
    lines: DKB_CARD(
      'Betrag (€)',
      '"Visa Kreditkarte";"4321 •••• •••• 9876"',
      '"27.09.26";"28.09.26";"Gebucht";"Hotel Roma";"Im Geschäft";"-1.048,15";"-1.100,00 CHF"',
    ),
    account: '4321 •••• •••• 9876',
    rows: [
      '2026-09-28 Debit 1048.15 | Im Geschäft | Hotel Roma -1.100,00 CHF',
      'warning: pending rows without a date or an amount are left out: 1',
    ],
  },
  {
    name: 'a card of DKB, with "Betrag"',
    lines: DKB_CARD(
      'Betrag',
      '"Visa Kreditkarte 4321 •••• •••• 9876"',
      '"27.09.26";"28.09.26";"Gebucht";"Ausgleich";"Lastschrift";"157,90 €";""',
    ),
    account: '4321 •••• •••• 9876',
    rows: [
      '2026-09-28 Credit 157.90 | Lastschrift | Ausgleich',
      'warning: pending rows without a date or an amount are left out: 1',
    ],
  },
  {
    name: 'Revolut, where the fee is a part of what the account loses',
    lines: [
      'Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance',
      'TOPUP,Current,2026-09-04 09:00:00,2026-09-04 09:00:01,Top-up,500.00,0.00,EUR,COMPLETED,600.00',
      'ATM,Current,2026-09-05 18:30:00,2026-09-05 18:30:02,Cash,-10.00,0.50,EUR,COMPLETED,589.50',
      'CARD_PAYMENT,Current,2026-09-06 20:00:00,,Shop,-7.00,0.00,EUR,PENDING,',
      'CARD_PAYMENT,Current,2026-09-06 21:00:00,,Shop,-8.00,0.00,EUR,REVERTED,',
    ],
    account: null,
    rows: [
      '2026-09-04 Credit 500.00 = 600.00 | EUR | TOPUP | Top-up',
      '2026-09-05 Debit 10.50 = 589.50 | EUR | ATM | Cash',
      'warning: pending rows without a date or an amount are left out: 1',
    ],
  },
  {
    name: 'Wise, whose amount has the fees',
    lines: [
      '"TransferWise ID",Date,Amount,Currency,Description,"Payment Reference","Running Balance","Exchange From","Exchange To","Exchange Rate","Payer Name","Payee Name","Payee Account Number",Merchant,"Card Last Four Digits","Card Holder Full Name",Attachment,Note,"Total fees","Exchange To Amount"',
      `TRANSFER-2,16-09-2026,-72.60,EUR,"Sent money to Verein",Beitrag,1000.00,,,,,Verein,${IBAN},,,,,,0.60,`,
      'TRANSFER-1,15-09-2026,50.00,EUR,"Received money",,1072.60,,,,Firma,,,,,,,,0,',
    ],
    account: null,
    rows: [
      `2026-09-16 Debit 72.60 = 1000.00 | EUR | Sent money to Verein Beitrag | Verein | ${IBAN} | TRANSFER-2`,
      '2026-09-15 Credit 50.00 = 1072.60 | EUR | Received money | Firma | TRANSFER-1',
    ],
  },
  {
    name: 'Qonto',
    lines: [
      'Status,Settlement date (UTC),Operation date (UTC),Total amount (incl. VAT),Currency,Counterparty name,Payment method,Transaction ID,IBAN,Reference,Category,Note,VAT amount,Initiator',
      `settled,2026-09-10 08:00:00,2026-09-09 08:00:00,-150.00,EUR,Verein,direct_debit,q-1,${IBAN},Beitrag,,,,Erika`,
      'pending,,2026-09-11 08:00:00,-5.00,EUR,Kiosk,card,q-2,,,,,,Erika',
      'declined,,2026-09-11 08:00:00,-6.00,EUR,Kiosk,card,q-3,,,,,,Erika',
    ],
    account: null,
    rows: [
      `2026-09-10 Debit 150.00 | EUR | direct_debit | Beitrag | Verein | ${IBAN} | q-1`,
      'warning: pending rows without a date or an amount are left out: 1',
    ],
  },
  {
    name: 'activities of PayPal, net of fees',
    lines: [
      '"Date","Time","TimeZone","Name","Type","Status","Currency","Gross","Fee","Net","From Email Address","To Email Address","Transaction ID","Invoice Number","Balance","Subject","Note"',
      '"09/21/2026","07:22:17","EDT","Erika","Payment Received","Completed","EUR","1,560.00","-68.94","1,491.06","","","T1","","4,764.38","Invoice 7",""',
      '"09/22/2026","07:22:17","EDT","Kiosk","General Authorization","Pending","EUR","-5.00","0.00","-5.00","","","T2","","4,764.38","",""',
      '"09/23/2026","07:22:17","EDT","Kiosk","Payment","Denied","EUR","-5.00","0.00","-5.00","","","T3","","4,764.38","",""',
    ],
    account: null,
    rows: [
      '2026-09-21 Credit 1491.06 = 4764.38 | EUR | Payment Received Invoice 7 | Erika | T1',
      '2026-09-22 Debit 5.00 = 4764.38 | pending | EUR | General Authorization | Kiosk | T2',
    ],
  },
  {
    name: 'a statement of PayPal in German',
    lines: [
      '"Datum","Uhrzeit","Zeitzone","Beschreibung","Währung","Brutto","Entgelt","Netto","Guthaben","Transaktionscode","Absender E-Mail-Adresse","Name","Name der Bank","Bankkonto","Versand- und Bearbeitungsgebühr","Umsatzsteuer","Rechnungsnummer","Zugehöriger Transaktionscode"',
      '"05.09.2026","09:14:00","Europe/Berlin","Zahlung erhalten","EUR","1.190,00","-34,51","1.155,49","1.255,49","T1","","Firma","","","0,00","0,00","",""',
    ],
    account: null,
    rows: ['2026-09-05 Credit 1155.49 = 1255.49 | EUR | Zahlung erhalten | Firma | T1'],
  },
  {
    name: 'activities of PayPal in German',
    lines: [
      'Datum,Uhrzeit,Zeitzone,Name,Typ,Status,Währung,Brutto,Entgelt,Netto,Absender-E-Mail-Adresse,Empfänger-E-Mail-Adresse,Transaktionscode,Beschreibung,Betreff,Hinweis,Guthaben,Adressstatus',
      '05.09.2026,09:14:00,Europe/Berlin,Firma,Zahlung erhalten,Abgeschlossen,EUR,"1.190,00","-34,51","1.155,49",,,T1,,Rechnung 7,,,',
      '06.09.2026,09:14:00,Europe/Berlin,Kiosk,Zahlung,Ausstehend,EUR,"-5,00","0,00","-5,00",,,T2,,,,,',
    ],
    account: null,
    rows: [
      '2026-09-05 Credit 1155.49 | EUR | Zahlung erhalten Rechnung 7 | Firma | T1',
      '2026-09-06 Debit 5.00 | pending | EUR | Zahlung | Kiosk | T2',
    ],
  },
  {
    name: 'activities of PayPal in German, with a fee called Gebühr',
    lines: [
      '"Datum","Uhrzeit","Zeitzone","Name","Typ","Status","Währung","Brutto","Gebühr","Netto","Absender E-Mail-Adresse","Empfänger E-Mail-Adresse","Transaktionscode","Artikelbezeichnung","Guthaben"',
      '"05.09.2026","09:14:00","CET","Firma","Zahlung","Abgeschlossen","EUR","100,00","-3,49","96,51","","","T1","Ware","96,51"',
      '"06.09.2026","09:14:00","CET","","Abbuchung","Ausstehend","EUR","-50,00","0,00","-50,00","","","T2","","96,51"',
    ],
    account: null,
    rows: [
      '2026-09-05 Credit 96.51 = 96.51 | EUR | Zahlung Ware | Firma | T1',
      '2026-09-06 Debit 50.00 = 96.51 | pending | EUR | Abbuchung | T2',
    ],
  },
  {
    name: 'comdirect',
    lines: [
      ';',
      '"Umsätze Girokonto";"Zeitraum: 10 Tage";',
      '"Neuer Kontostand";"165,44 EUR";',
      '',
      '"Buchungstag";"Wertstellung (Valuta)";"Vorgang";"Buchungstext";"Umsatz in EUR";',
      '"offen";"--";"Lastschrift / Belastung";"Auftraggeber: Kiosk";"-20,00";',
      '"23.09.2026";"24.09.2026";"Übertrag / Überweisung";"Empfänger: Verein Buchungstext: Beitrag";"-34,56";',
      '',
      '"Alter Kontostand";"200,00 EUR";',
    ],
    account: null,
    rows: ['2026-09-23 Debit 34.56 | Übertrag / Überweisung | Empfänger: Verein Buchungstext: Beitrag'],
    details: { valueDate: '2026-09-24' },
  },
  {
    name: 'Deutsche Bank, with a short row',
    lines: [
      'Umsätze',
      '1.9.2026 - 30.9.2026',
      'Letzter Kontostand;;;;1.000,00;EUR',
      'Buchungstag;Wert;Umsatzart;Begünstigter / Auftraggeber;Verwendungszweck;IBAN / Kontonummer;BIC;Kundenreferenz;Mandatsreferenz;Gläubiger ID;Fremde Gebühren;Betrag;Abweichender Empfänger;Anzahl der Aufträge;Anzahl der Schecks;Soll;Haben;Währung',
      `25.9.2026;26.9.2026;SEPA Lastschrift;Verein;Beitrag;${IBAN};;E-7;M-7;DE98ZZZ;;-4,99;;;;-4,99;;EUR`,
      '23.9.2026;23.9.2026;Entgelt;;Kontoführung;;;NOTPROVIDED;;;;-5,00',
      'Kontostand;30.9.2026;;;990,01;EUR',
    ],
    account: null,
    rows: [
      `2026-09-25 Debit 4.99 | EUR | SEPA Lastschrift | Beitrag | Verein | ${IBAN}`,
      '2026-09-23 Debit 5.00 | Entgelt | Kontoführung',
    ],
    details: { valueDate: '2026-09-26', endToEndId: 'E-7', mandateReference: 'M-7' },
    isBalanced: true,
  },
  {
    name: 'Commerzbank',
    lines: [
      'Buchungstag;Wertstellung;Umsatzart;Buchungstext;Betrag;Währung;IBAN Kontoinhaber;Kategorie',
      `21.09.2026;22.09.2026;Lastschrift;Verein Beitrag;-12,34;EUR;${IBAN};`,
    ],
    account: IBAN,
    rows: ['2026-09-21 Debit 12.34 | EUR | Lastschrift | Verein Beitrag'],
    details: { valueDate: '2026-09-22' },
  },
  {
    name: 'a Volksbank',
    lines: [
      'Bezeichnung Auftragskonto;IBAN Auftragskonto;BIC Auftragskonto;Bankname Auftragskonto;Buchungstag;Valutadatum;Name Zahlungsbeteiligter;IBAN Zahlungsbeteiligter;BIC (SWIFT-Code) Zahlungsbeteiligter;Buchungstext;Verwendungszweck;Betrag;Waehrung;Saldo nach Buchung;Bemerkung;Gekennzeichneter Umsatz;Glaeubiger ID;Mandatsreferenz',
      `Konto;${IBAN};GENODEF1XXX;Volksbank;21.09.2026;22.09.2026;Verein;DE02120300000000202051;BYLADEM1001;Basislastschrift;Beitrag;-12,34;EUR;87,66;;;DE98ZZZ;M-7`,
    ],
    account: IBAN,
    rows: [
      '2026-09-21 Debit 12.34 = 87.66 | EUR | Basislastschrift | Beitrag | Verein | DE02120300000000202051',
    ],
    details: { valueDate: '2026-09-22', mandateReference: 'M-7' },
  },
  {
    name: 'Santander (Spain) with semicolons',
    lines: [
      'FECHA OPERACIÓN;FECHA VALOR;CONCEPTO;IMPORTE EUR;SALDO',
      '28/09/2026;29/09/2026;Transferencia De Ejemplo;1.050,00;1.100,00',
    ],
    account: null,
    rows: ['2026-09-28 Credit 1050.00 = 1100.00 | Transferencia De Ejemplo'],
    details: { valueDate: '2026-09-29' },
  },
  {
    name: 'Santander (Spain) with commas',
    lines: [
      'FECHA OPERACIÓN,FECHA VALOR,CONCEPTO,IMPORTE EUR,SALDO',
      '28/09/2026,29/09/2026,Transferencia De Ejemplo,1050.00,1100.00',
    ],
    account: null,
    rows: ['2026-09-28 Credit 1050.00 = 1100.00 | Transferencia De Ejemplo'],
    details: { valueDate: '2026-09-29' },
  },
  {
    name: 'BBVA (Spain)',
    lines: [
      'F.Valor,Fecha,Concepto,Movimiento,Importe,Divisa,Disponible,Divisa,Observaciones',
      '23/09/2026,25/09/2026,Quiosco,Pago con tarjeta,-6.93,EUR,7540.46,EUR,Tarjeta 1',
    ],
    account: null,
    rows: ['2026-09-25 Debit 6.93 = 7540.46 | EUR | Quiosco Pago con tarjeta Tarjeta 1'],
    details: { valueDate: '2026-09-23' },
  },
];

describe("a bank's export", () => {
  it.each(EXPORTS)(
    'is read as a bookkeeper reads it: $name',
    async ({ lines, account, rows, details, isBalanced }) => {
      const events = await read(...lines);
      expect(tell(events)).toEqual(rows);
      expect(
        events.flatMap((event) =>
          event.type === 'statement' ? [event.account.iban ?? event.account.number] : [],
        ),
      ).toEqual([account]);
      expect(entriesOf(events).find(({ status }) => status === 'booked')?.details).toEqual(details);
      expect(balanceDifferences(events)).toEqual(isBalanced ? [0n] : []);
    },
  );
});
