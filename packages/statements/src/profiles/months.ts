/** Months by name, long and short, in the languages of banks whose files have them. */

const LANGUAGES =
  'en de fr es it pt nl sv da nb fi is pl cs sk hu sl hr ro bg el tr et lv lt ca ga sq sr-Latn uk ru'.split(
    ' ',
  );

const LENGTHS = ['long', 'short'] as const;

/** Names of a month also have other forms beside a day: "8 marca" is in March, whose name alone is "marzec". */
const FORMS: readonly Intl.DateTimeFormatOptions[] = LENGTHS.flatMap((month) => [
  { month },
  { month, day: 'numeric' },
]);

/** Names that banks write and CLDR does not have: the short form of SAP and Excel, and those of Austria. */
const MORE: readonly [name: string, language: string, month: number][] = [
  ['mrz', 'de', 3],
  ['janner', 'de', 1],
  ['feber', 'de', 2],
];

/** A name without case, accents and points: "Août" and "aout" are one, and so are "sept." and "sept". */
const fold = (name: string): string =>
  name
    .normalize('NFD')
    .replaceAll(/[^\p{L}]/gu, '')
    .toLowerCase()
    .replaceAll('ı', 'i');

/** The months that a name has, by language. English names are also cut to three letters, as banks do. */
function collectNames(): Map<string, Map<string, number>> {
  const names = new Map<string, Map<string, number>>();
  const add = (name: string, language: string, month: number) => {
    const found = names.get(name) ?? new Map<string, number>();
    if (!found.has(language)) names.set(name, found.set(language, month));
  };
  for (const [name, language, month] of MORE) add(name, language, month);
  for (const language of LANGUAGES)
    for (const form of FORMS) {
      const format = new Intl.DateTimeFormat(language, { ...form, timeZone: 'UTC', calendar: 'gregory' });
      for (let month = 1; month <= 12; month += 1) {
        const parts = format.formatToParts(new Date(Date.UTC(2026, month - 1, 15)));
        const name = fold(parts.find(({ type }) => type === 'month')?.value ?? '');
        if (name === '') continue;
        add(name, language, month);
        if (language === 'en') add(name.slice(0, 3), language, month);
      }
    }
  return names;
}

let names: ReturnType<typeof collectNames> | null = null;

/**
 * Finds the month with a name, as the Unicode CLDR has them.
 * @param country ISO 3166-1. Where a name is of two months, as "listopad" (October in Croatia, November in Poland), its main language decides.
 * @returns 1 to 12; null: no month has the name, or two months have.
 */
export function monthOf(name: string, country?: string): number | null {
  names ??= collectNames();
  const months = names.get(fold(name));
  if (months === undefined) return null;
  const own = country === undefined ? undefined : months.get(languageOf(country));
  const [first, ...others] = new Set(months.values());
  return own ?? (others.length === 0 ? (first ?? null) : null);
}

const languageOf = (country: string): string => {
  const { language } = new Intl.Locale('und', { region: country }).maximize();
  return language === 'no' ? 'nb' : language;
};
