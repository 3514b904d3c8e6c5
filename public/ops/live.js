// Keeps the pages of the console up to date, and says how old they are.

const standing = document.getElementById('standing');
const verdict = standing.querySelector('.verdict');
const main = document.getElementById('main');

/** A page reads itself again this often. */
const RENEW_EVERY = 5_000;

/** How long a page waits for itself. The service gives up after 3 s. */
const PATIENCE = 4_000;

/** A page that is older than this says so. */
const FRESH_FOR = 10_000;

let renewedAt = Date.now();

/** Says how old the page is, in its heading. */
function showAge() {
  const heading = main.querySelector('h1');
  if (heading === null) return;
  const age = Date.now() - renewedAt;
  const shown = heading.querySelector('.age');
  if (age <= FRESH_FOR) shown?.remove();
  else {
    const text = ` as of ${Math.floor(age / 1_000)} s ago`;
    if (shown !== null) shown.textContent = text;
    else {
      const added = Object.assign(document.createElement('span'), { className: 'age', textContent: text });
      heading.append(added);
    }
  }
}

/** Whether a field differs from what the page came with. */
function isChanged(field) {
  if (!(field instanceof HTMLSelectElement)) return field.value !== field.defaultValue;
  const own = [...field.options].find(({ defaultSelected }) => defaultSelected) ?? field.options[0];
  return field.value !== own?.value;
}

/** Whether somebody is at work on the page: a change is being confirmed, a field is filled in, or a text is selected. */
function isInUse() {
  if (main.querySelector('form[method="post"]') !== null) return true;
  const fields = [...main.querySelectorAll('input, select, textarea')];
  if (fields.some((it) => it === document.activeElement || isChanged(it))) return true;
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && main.contains(selection.anchorNode);
}

/** Replaces what a part of the page shows. The focus stays on its link or, without it, on the part. */
function replaceWithin(part, html) {
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  part.innerHTML = html;
  if (focused === null) return;
  part.tabIndex = -1;
  const target = [...part.querySelectorAll('a')].find(({ href }) => href === focused.href) ?? part;
  target.focus({ preventScroll: true });
}

/** Reads the page again. A page that cannot be read stays, and becomes old. */
async function renew() {
  if (document.hidden || isInUse()) return;
  try {
    const answer = await fetch(location.href, {
      headers: { Accept: 'text/html' },
      signal: AbortSignal.timeout(PATIENCE),
    });
    if (!answer.ok || isInUse()) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const next = page.getElementById('main');
    if (next === null) return;
    if (next.innerHTML !== main.innerHTML) replaceWithin(main, next.innerHTML);
    renewedAt = Date.now();
  } catch {
    // The next round tries again.
  }
}

/** Shows the verdict on top of every page, and hands it to the page Now. */
function receive(event) {
  const now = JSON.parse(event.data);
  verdict.textContent = now.announcement;
  standing.className = `standing ${now.severity}`;
  if (document.documentElement.dataset.severity !== now.severity)
    document.documentElement.dataset.severity = now.severity;
  if (standing.dataset.live === '/ops/now') renewedAt = Date.now();
  dispatchEvent(new CustomEvent('now', { detail: now }));
  document.documentElement.dataset.live = 'yes';
}

const source = new EventSource(standing.dataset.live);
source.onmessage = receive;
source.onerror = () => {
  document.documentElement.dataset.live = 'no';
  verdict.textContent = 'This process does not answer.';
  standing.className = 'standing stopped';
};
setInterval(showAge, 1_000);
if (standing.dataset.live !== '/ops/now' && main.dataset.renewed !== 'no') setInterval(renew, RENEW_EVERY);
