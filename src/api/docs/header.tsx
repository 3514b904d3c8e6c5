/** The header of the guides and of the reference, with the search. */
export function DocsHeader({ url }: { url: string }) {
  const isReference = url === '/docs/api';
  return (
    <header class="top">
      <nav aria-label="Documentation">
        <ul>
          <li>
            <a href="/docs" aria-current={url === '/docs' ? 'page' : undefined}>
              Guides
            </a>
          </li>
          <li>
            <a href="/docs/api" aria-current={isReference ? 'page' : undefined}>
              API reference
            </a>
          </li>
          {isReference ? null : (
            <li class="narrow">
              <a href="#contents">All pages</a>
            </li>
          )}
        </ul>
      </nav>
      <search class="find">
        <form action="/docs">
          <label class="hidden" for="find">
            Search the guides
          </label>
          <input
            id="find"
            name="q"
            type="search"
            placeholder="Search the guides"
            aria-keyshortcuts="/"
            autocomplete="off"
            maxlength={200}
          />
          <button type="submit">Search</button>
        </form>
        <div id="found" class="found" hidden>
          <p role="status" />
          <ol />
        </div>
      </search>
    </header>
  );
}
