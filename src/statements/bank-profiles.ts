import akbank from './profiles/banks/akbank.json' with { type: 'json' };
import bunq from './profiles/banks/bunq.json' with { type: 'json' };
import ceskaSporitelna from './profiles/banks/ceska-sporitelna.json' with { type: 'json' };
import danskeBank from './profiles/banks/danske-bank.json' with { type: 'json' };
import dkb from './profiles/banks/dkb.json' with { type: 'json' };
import enpara from './profiles/banks/enpara.json' with { type: 'json' };
import garantiBbva from './profiles/banks/garanti-bbva.json' with { type: 'json' };
import ingDe from './profiles/banks/ing-de.json' with { type: 'json' };
import ingNl from './profiles/banks/ing-nl.json' with { type: 'json' };
import isbankasi from './profiles/banks/isbankasi.json' with { type: 'json' };
import kbc from './profiles/banks/kbc.json' with { type: 'json' };
import knab from './profiles/banks/knab.json' with { type: 'json' };
import mbankPl from './profiles/banks/mbank-pl.json' with { type: 'json' };
import monzo from './profiles/banks/monzo.json' with { type: 'json' };
import n26 from './profiles/banks/n26.json' with { type: 'json' };
import nordeaSe from './profiles/banks/nordea-se.json' with { type: 'json' };
import ocbc from './profiles/banks/ocbc.json' with { type: 'json' };
import pkoBp from './profiles/banks/pko-bp.json' with { type: 'json' };
import rabobank from './profiles/banks/rabobank.json' with { type: 'json' };
import raiffeisenbankCz from './profiles/banks/raiffeisenbank-cz.json' with { type: 'json' };
import sparkasse from './profiles/banks/sparkasse.json' with { type: 'json' };
import sparkasseCreditCard from './profiles/banks/sparkasse-credit-card.json' with { type: 'json' };
import starling from './profiles/banks/starling.json' with { type: 'json' };
import ubs from './profiles/banks/ubs.json' with { type: 'json' };
import vakifbank from './profiles/banks/vakifbank.json' with { type: 'json' };
import ziraat from './profiles/banks/ziraat.json' with { type: 'json' };

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
