import MiniSearch from './minisearch.js';
import { find, OPTIONS } from './search.js';

// What the guides do in a browser: the search, the service's own address in examples, and buttons that copy an example.

/** The addresses of `npm start` in the examples, by the listener that serves this page. */
const EXAMPLE_ADDRESS = { customers: 'http://127.0.0.1:3000', operators: 'http://127.0.0.1:3001' };

/** Puts the address that the reader has used into the examples, for programs on other machines. */
function fillInAddress() {
  const example = EXAMPLE_ADDRESS[document.body.dataset.audience];
  if (example === undefined || example === location.origin) return;
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode())
    if (text.data.includes(example)) text.data = text.data.replaceAll(example, location.origin);
}

/** Copies a text. Browsers have a clipboard only for pages of HTTPS and of this machine; elsewhere a selection is copied. */
async function copy(element) {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(element.textContent);
  getSelection().selectAllChildren(element);
  document.execCommand('copy');
  getSelection().removeAllRanges();
}

function addCopyButtons() {
  for (const example of document.querySelectorAll('.example')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await copy(example.querySelector('code'));
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 2000);
    });
    example.append(button);
  }
}

/** The index, which is loaded when somebody begins to search. */
let index;
const load = () => {
  index ??= fetch('/docs/assets/index.json').then(async (answer) => {
    if (!answer.ok) throw new Error(`The index of the search could not be loaded (${answer.status}).`);
    return MiniSearch.loadJSON(await answer.text(), OPTIONS);
  });
  return index;
};

const field = document.getElementById('find');
const found = document.getElementById('found');
const [status, list] = [found.querySelector('p'), found.querySelector('ol')];

function show(hits) {
  status.textContent = hits.length === 0 ? 'Nothing was found. Try another word.' : `${hits.length} found`;
  list.replaceChildren(
    ...hits.map(({ url, page, heading, excerpt }) => {
      const [item, link, words] = ['li', 'a', 'small'].map((name) => document.createElement(name));
      link.href = url;
      link.textContent = heading === page ? page : `${page}: ${heading}`;
      words.textContent = excerpt;
      link.append(words);
      item.append(link);
      return item;
    }),
  );
}

async function search() {
  const text = field.value.trim();
  found.hidden = text === '';
  if (text === '') return;
  try {
    const hits = find(await load(), text);
    // Somebody may have typed on while the index was loaded.
    if (field.value.trim() === text) show(hits);
  } catch (error) {
    index = undefined;
    list.replaceChildren();
    status.textContent = `${error.message} Try again.`;
  }
}

function addSearch() {
  field.addEventListener('focus', () => load().catch(() => undefined), { once: true });
  field.addEventListener('input', search);
  field.form.addEventListener('submit', async (event) => {
    event.preventDefault();
    await search();
    list.querySelector('a')?.click();
  });
  document.addEventListener('keydown', (event) => {
    const links = [field, ...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    if (event.key === '/' && !event.target.closest('input, textarea')) field.focus();
    else if (event.key === 'Escape') {
      found.hidden = true;
      if (at > 0) field.focus();
      return;
    } else if (at !== -1 && !found.hidden && event.key === 'ArrowDown') links[at + 1]?.focus();
    else if (at > 0 && event.key === 'ArrowUp') links[at - 1].focus();
    else return;
    event.preventDefault();
  });
  document.addEventListener('click', (event) => {
    if (event.target.closest('.found a') !== null || event.target.closest('.find') === null)
      found.hidden = true;
  });
  const asked = new URLSearchParams(location.search).get('q');
  if (asked !== null) {
    field.value = asked;
    search();
  }
}

// Where the reference of requests was before.
if (location.pathname === '/docs' && location.hash.startsWith('#/'))
  location.replace(`/docs/api${location.hash}`);
document.querySelector('.contents [aria-current]')?.scrollIntoView({ block: 'nearest' });
fillInAddress();
addCopyButtons();
addSearch();
