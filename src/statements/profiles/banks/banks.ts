import akbank from './akbank.json' with { type: 'json' };
import bunq from './bunq.json' with { type: 'json' };
import ceskaSporitelna from './ceska-sporitelna.json' with { type: 'json' };
import danskeBank from './danske-bank.json' with { type: 'json' };
import dkb from './dkb.json' with { type: 'json' };
import enpara from './enpara.json' with { type: 'json' };
import garantiBbva from './garanti-bbva.json' with { type: 'json' };
import ingDe from './ing-de.json' with { type: 'json' };
import ingNl from './ing-nl.json' with { type: 'json' };
import isbankasi from './isbankasi.json' with { type: 'json' };
import kbc from './kbc.json' with { type: 'json' };
import knab from './knab.json' with { type: 'json' };
import mbankPl from './mbank-pl.json' with { type: 'json' };
import monzo from './monzo.json' with { type: 'json' };
import n26 from './n26.json' with { type: 'json' };
import nordeaSe from './nordea-se.json' with { type: 'json' };
import ocbc from './ocbc.json' with { type: 'json' };
import pkoBp from './pko-bp.json' with { type: 'json' };
import rabobank from './rabobank.json' with { type: 'json' };
import raiffeisenbankCz from './raiffeisenbank-cz.json' with { type: 'json' };
import sparkasse from './sparkasse.json' with { type: 'json' };
import sparkasseCreditCard from './sparkasse-credit-card.json' with { type: 'json' };
import starling from './starling.json' with { type: 'json' };
import ubs from './ubs.json' with { type: 'json' };
import vakifbank from './vakifbank.json' with { type: 'json' };
import ziraat from './ziraat.json' with { type: 'json' };

/** The built-in profiles, by name. Each names the documentation of its bank's format. */
export const BANKS: Record<string, unknown> = {
  akbank,
  bunq,
  'ceska-sporitelna': ceskaSporitelna,
  'danske-bank': danskeBank,
  dkb,
  enpara,
  'garanti-bbva': garantiBbva,
  'ing-de': ingDe,
  'ing-nl': ingNl,
  isbankasi,
  kbc,
  knab,
  'mbank-pl': mbankPl,
  monzo,
  n26,
  'nordea-se': nordeaSe,
  ocbc,
  'pko-bp': pkoBp,
  rabobank,
  'raiffeisenbank-cz': raiffeisenbankCz,
  sparkasse,
  'sparkasse-credit-card': sparkasseCreditCard,
  starling,
  ubs,
  vakifbank,
  ziraat,
};
