import { countOf } from '../platform/text.ts';

/** The troubles of an installation, and the sentences that sum them up. */

/**
 * The worst comes first. stopped: nothing works until somebody acts. failing: something does not work. attention: somebody should look.
 * warning: everything works, but is not set up safely.
 */
const SEVERITIES = ['stopped', 'failing', 'attention', 'warning'] as const;
type Severity = (typeof SEVERITIES)[number];

/** installation: the operator's own. endpoint: of a subscriber, a sender or a bank, and the service itself works. */
export const SCOPES = ['installation', 'endpoint'] as const;
export type Scope = (typeof SCOPES)[number];

/** How many troubles of a kind there are, in words that a sentence can end with. */
const counted = (one: string, many: string) => (count: number) => countOf(count, one, many);

/**
 * Each kind of trouble: its words in a summary, how bad it is, and what helps, unless the trouble itself says so. A trouble may be of
 * another scope than its kind.
 */
const KINDS = {
  mysql: {
    scope: 'installation',
    severity: 'stopped',
    words: () => 'MySQL does not work',
    help: '',
  },
  redis: {
    scope: 'installation',
    severity: 'stopped',
    words: () => 'Redis does not work',
    help: '',
  },
  schema: {
    scope: 'installation',
    severity: 'stopped',
    words: () => 'the database schema is not up to date',
    help: 'Run: ledgerbell migrate',
  },
  mysql_hosts: {
    scope: 'installation',
    severity: 'failing',
    words: counted('problem with the hosts of MySQL', 'problems with the hosts of MySQL'),
    help: 'Leave one host as the primary, and make the others read-only.',
  },
  mysql_settings: {
    scope: 'installation',
    severity: 'failing',
    words: () => 'MySQL refuses large imports',
    help: 'Smaller imports are stored. A larger one is answered with 503, and its sender repeats it.',
  },
  role_missing: {
    scope: 'installation',
    severity: 'stopped',
    words: counted('role has no process', 'roles have no process'),
    help: '',
  },
  process: {
    scope: 'installation',
    severity: 'failing',
    words: counted('process reports a problem', 'processes report a problem'),
    help: 'Look at the host of the process: its network, its disk and its clock.',
  },
  process_killed: {
    scope: 'installation',
    severity: 'attention',
    words: counted(
      'process was killed in the last hour because it did not answer',
      'processes were killed in the last hour because they did not answer',
    ),
    help: 'Its work is taken over. Look in its log for what it did before, and report it if it happens again.',
  },
  ops_plain_text: {
    scope: 'installation',
    severity: 'warning',
    words: () => "operators' tokens and passwords cross the network in plain text",
    help: 'Set OPS_TLS_CERT_FILE and OPS_TLS_KEY_FILE, or OPS_BEHIND_TLS=true if a proxy in front does TLS.',
  },
  webhook_quarantined: {
    scope: 'installation',
    severity: 'failing',
    words: counted('webhook is quarantined', 'webhooks are quarantined'),
    help: 'Find out in the log why its delivery runs crash, and enable it then.',
  },
  import_stuck: {
    scope: 'installation',
    severity: 'failing',
    words: counted(
      'import has been waiting for more than 5 minutes, and nothing of the same customer is stored',
      'imports have been waiting for more than 5 minutes, and nothing of the same customers is stored',
    ),
    help: 'Look for a transaction in MySQL that holds a lock.',
  },
  import_given_up: {
    scope: 'installation',
    severity: 'failing',
    words: counted('import was given up', 'imports were given up'),
    help: 'Find out in the log why its importer crashes, and retry the import then.',
  },
  imports_queued: {
    scope: 'installation',
    severity: 'attention',
    words: counted('import is queued', 'imports are queued'),
    help: 'Start more importers, unless the queue gets shorter by itself.',
  },
  source_failing: {
    scope: 'installation',
    severity: 'failing',
    words: counted('source is failing', 'sources are failing'),
    help: 'Check the address and the credentials of the source. It is tried again by itself. Until it works, nothing is collected, and its files stay where they are.',
  },
  source_wrong_file: {
    scope: 'installation',
    severity: 'attention',
    words: counted(
      'source has brought a file that could not be imported',
      'sources have brought a file that could not be imported',
    ),
    help: 'Look at the errors of its import, and send a corrected file.',
  },
  webhook_failing: {
    scope: 'endpoint',
    severity: 'failing',
    words: counted('endpoint is failing', 'endpoints are failing'),
    help: 'Tell its owner. Once the endpoint answers, everything is sent, each delivery at its next attempt.',
  },
  webhook_flapping: {
    scope: 'endpoint',
    severity: 'failing',
    words: counted('endpoint is flapping', 'endpoints are flapping'),
    help: 'Tell its owner: the endpoint succeeds and fails by turns. Its last answers may say why: it refuses some events, is overloaded, or restarts.',
  },
  webhook_behind: {
    scope: 'endpoint',
    severity: 'attention',
    words: counted('webhook is behind', 'webhooks are behind'),
    help: 'Raise the limit that holds it, if its endpoint can take more.',
  },
  webhook_unread: {
    scope: 'endpoint',
    severity: 'attention',
    words: counted('feed is not read', 'feeds are not read'),
    help: 'Tell its owner: what a feed has not acknowledged is kept, whatever its age. Delete the webhook if nobody needs it.',
  },
  webhook_disabled: {
    scope: 'endpoint',
    severity: 'attention',
    words: counted('webhook is disabled', 'webhooks are disabled'),
    help: 'Tell its owner, and enable it when the endpoint answers.',
  },
  import_failed: {
    scope: 'endpoint',
    severity: 'failing',
    words: counted('import has failed', 'imports have failed'),
    help: 'Its sender corrects the file and sends it again.',
  },
  conflicts_open: {
    scope: 'endpoint',
    severity: 'attention',
    words: counted('conflict waits for a decision', 'conflicts wait for a decision'),
    help: 'Ask the bank or the sender, and store or ignore each row, on the page Books or with: ledgerbell conflicts',
  },
  statements_wrong: {
    scope: 'endpoint',
    severity: 'attention',
    words: counted(
      'account has statements that are missing or contradict each other',
      'accounts have statements that are missing or contradict each other',
    ),
    help: 'Ask the bank for the statement of each gap, and which one is right where two contradict each other.',
  },
  statements_late: {
    scope: 'endpoint',
    severity: 'attention',
    words: counted('account waits for a late statement', 'accounts wait for a late statement'),
    help: 'Ask the bank or the sender for the statement.',
  },
} satisfies Record<
  string,
  { scope: Scope; severity: Severity; words: (count: number) => string; help: string }
>;

export type TroubleKind = keyof typeof KINDS;
export const TROUBLE_KINDS = Object.keys(KINDS) as TroubleKind[];

/** Money of open questions, in one currency. */
export interface Money {
  currency: string;
  amount: string;
}

/** What waits or may be wrong until the trouble ends. */
interface AtRisk {
  /** Pending deliveries. */
  pending?: number;
  /** When the oldest of what waits was stored or received. */
  oldest?: Date | null;
  /** The amounts of rows that are not stored. */
  money?: readonly Money[];
}

export interface Trouble extends AtRisk {
  kind: TroubleKind;
  scope: Scope;
  severity: Severity;
  /** How many objects are in this trouble. More than one, if they are not named one by one. */
  count: number;
  /** The object that is in trouble; null: the installation, or several objects. */
  subject: {
    type: 'webhook' | 'source' | 'import' | 'account';
    id: string;
    title: string;
    customer: string;
  } | null;
  since: Date | null;
  /** What is wrong, for a person. */
  sentence: string;
  help: string;
  /** The page of the console that shows it. */
  page: { text: string; href: string };
}

/** Makes a trouble of a kind. Without a sentence, it says how many objects are in it. */
export function troubleOf(
  kind: TroubleKind,
  {
    count = 1,
    sentence = sentenceOf(kind, count),
    ...fields
  }: Partial<Omit<Trouble, 'kind' | 'page'>> & Pick<Trouble, 'page'>,
): Trouble {
  const { scope, severity, help } = KINDS[kind];
  return { kind, scope, severity, subject: null, since: null, help, ...fields, count, sentence };
}

/** The objects in trouble beside those that are named one by one. */
export const othersOf = (kind: TroubleKind, count: number, page: Trouble['page']): Trouble[] =>
  count > 0 ? [troubleOf(kind, { count, page, sentence: `Beside these, ${wordsOf(kind, count)}.` })] : [];

/** How many objects are in a trouble, in words that a sentence can end with: `3 imports are queued`. */
export const wordsOf = (kind: TroubleKind, count: number): string => KINDS[kind].words(count);

const sentenceOf = (kind: TroubleKind, count: number): string => toSentence(wordsOf(kind, count));

const toSentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

/** The part of a trouble that a sentence about all troubles needs. */
export type ToldTrouble = Pick<Trouble, 'kind' | 'scope' | 'severity' | 'count' | 'sentence'>;

/** The worst first. */
export const sortTroubles = (troubles: readonly Trouble[]): Trouble[] =>
  SEVERITIES.flatMap((severity) => troubles.filter((it) => it.severity === severity));

/** How many objects are in trouble, by kind and scope. Kinds without trouble are left out. */
export function countTroubles(
  troubles: readonly ToldTrouble[],
): { kind: TroubleKind; scope: Scope; count: number }[] {
  const counts = new Map<string, { kind: TroubleKind; scope: Scope; count: number }>();
  for (const { kind, scope, count } of troubles) {
    const known = counts.get(`${kind} ${scope}`);
    if (known === undefined) counts.set(`${kind} ${scope}`, { kind, scope, count });
    else known.count += count;
  }
  return [...counts.values()];
}

/** Whether a trouble makes the installation "Not well". A warning does not, because everything works. */
const isProblem = ({ scope, severity }: ToldTrouble): boolean =>
  scope === 'installation' && severity !== 'warning';

/** What is wrong with the installation itself, in one sentence for each kind. Servers and processes are told one by one. */
export function problemsOf(troubles: readonly ToldTrouble[]): string[] {
  const own = troubles.filter(isProblem);
  const told = new Set<TroubleKind>();
  return own.flatMap(({ kind, sentence }) => {
    if (!KINDS_BY_NAME.has(kind)) return [sentence];
    if (told.has(kind)) return [];
    told.add(kind);
    const count = own.reduce((sum, it) => (it.kind === kind ? sum + it.count : sum), 0);
    return [sentenceOf(kind, count)];
  });
}

/** Kinds whose objects are counted. */
const KINDS_BY_NAME: ReadonlySet<TroubleKind> = new Set(
  TROUBLE_KINDS.filter((kind) => /^(?:webhook|import|source)/.test(kind)),
);

/**
 * The answer to "is anything wrong?" in one sentence or two. Only troubles of the installation make it "Not well": a failing endpoint says
 * nothing about this service, and a warning stops no work.
 */
export function headlineOf(troubles: readonly ToldTrouble[]): string {
  const problems = problemsOf(troubles);
  const others = countTroubles(troubles.filter((it) => !isProblem(it)))
    .map(({ kind, count }) => wordsOf(kind, count))
    .join(', ');
  if (problems.length > 0)
    return `Not well: ${problems.join(' ')}${others === '' ? '' : ` Beside that, ${others}.`}`;
  return others === '' ? 'All is well.' : `The service is well; ${others}.`;
}

/** The severity of the headline. A failing endpoint, of which the headline says that the service is well, needs attention at most. */
export function headlineSeverityOf(troubles: readonly ToldTrouble[]): Severity | 'well' {
  const severity = troubles[0]?.severity ?? 'well';
  const isFailure = severity === 'stopped' || severity === 'failing';
  return isFailure && !troubles.some(isProblem) ? 'attention' : severity;
}
