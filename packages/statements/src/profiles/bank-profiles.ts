import akbank from './banks/akbank.json' with { type: 'json' };
import bbvaEs from './banks/bbva-es.json' with { type: 'json' };
import bunq from './banks/bunq.json' with { type: 'json' };
import ceskaSporitelna from './banks/ceska-sporitelna.json' with { type: 'json' };
import comdirect from './banks/comdirect.json' with { type: 'json' };
import commerzbank from './banks/commerzbank.json' with { type: 'json' };
import danskeBank from './banks/danske-bank.json' with { type: 'json' };
import deutscheBank from './banks/deutsche-bank.json' with { type: 'json' };
import dkb from './banks/dkb.json' with { type: 'json' };
import enpara from './banks/enpara.json' with { type: 'json' };
import garantiBbva from './banks/garanti-bbva.json' with { type: 'json' };
import ingDe from './banks/ing-de.json' with { type: 'json' };
import ingNl from './banks/ing-nl.json' with { type: 'json' };
import isbankasi from './banks/isbankasi.json' with { type: 'json' };
import kbc from './banks/kbc.json' with { type: 'json' };
import knab from './banks/knab.json' with { type: 'json' };
import mbankPl from './banks/mbank-pl.json' with { type: 'json' };
import monzo from './banks/monzo.json' with { type: 'json' };
import n26 from './banks/n26.json' with { type: 'json' };
import nordeaSe from './banks/nordea-se.json' with { type: 'json' };
import ocbc from './banks/ocbc.json' with { type: 'json' };
import paypal from './banks/paypal.json' with { type: 'json' };
import pkoBp from './banks/pko-bp.json' with { type: 'json' };
import qonto from './banks/qonto.json' with { type: 'json' };
import rabobank from './banks/rabobank.json' with { type: 'json' };
import raiffeisenbankCz from './banks/raiffeisenbank-cz.json' with { type: 'json' };
import revolut from './banks/revolut.json' with { type: 'json' };
import santanderEs from './banks/santander-es.json' with { type: 'json' };
import sparkasse from './banks/sparkasse.json' with { type: 'json' };
import sparkasseCreditCard from './banks/sparkasse-credit-card.json' with { type: 'json' };
import starling from './banks/starling.json' with { type: 'json' };
import ubs from './banks/ubs.json' with { type: 'json' };
import vakifbank from './banks/vakifbank.json' with { type: 'json' };
import volksbankDe from './banks/volksbank-de.json' with { type: 'json' };
import wise from './banks/wise.json' with { type: 'json' };
import ziraat from './banks/ziraat.json' with { type: 'json' };

/** The built-in profiles, by name. Each names the documentation of its bank's format. */
export const BANKS: Record<string, unknown> = {
  akbank,
  'bbva-es': bbvaEs,
  bunq,
  'ceska-sporitelna': ceskaSporitelna,
  comdirect,
  commerzbank,
  'danske-bank': danskeBank,
  'deutsche-bank': deutscheBank,
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
  paypal,
  'pko-bp': pkoBp,
  qonto,
  rabobank,
  'raiffeisenbank-cz': raiffeisenbankCz,
  revolut,
  'santander-es': santanderEs,
  sparkasse,
  'sparkasse-credit-card': sparkasseCreditCard,
  starling,
  ubs,
  vakifbank,
  'volksbank-de': volksbankDe,
  wise,
  ziraat,
};
