// What the guides do in a browser: the service's own address in examples, and buttons that copy an example.

/** The port of `npm start` in the examples, by the listener that serves this page. */
const EXAMPLE_PORT = { customers: '3000', operators: '3001' };

/** Puts the address that the reader has used into the examples, for programs on other machines. */
function fillInAddress() {
  const port = EXAMPLE_PORT[document.body.dataset.audience];
  const address = new RegExp(`(http://)?(?:127\\.0\\.0\\.1|localhost):${port}\\b`, 'g');
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    const filled = text.data.replaceAll(address, (_, scheme) => (scheme ? location.origin : location.host));
    if (filled !== text.data) text.data = filled;
  }
}

/** Scrolls the list of pages to this page, where the list scrolls by itself. */
function showCurrentPage() {
  const list = document.querySelector('.contents');
  const current = list.querySelector('[aria-current]');
  if (current !== null && list.scrollHeight > list.clientHeight)
    list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
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

// Where the reference of requests was before.
if (location.pathname === '/docs' && location.hash.startsWith('#/'))
  location.replace(`/docs/api${location.hash}`);
showCurrentPage();
fillInAddress();
addCopyButtons();
