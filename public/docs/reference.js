// The reference of requests: Swagger UI, with the colours that the reader prefers.

const dark = matchMedia('(prefers-color-scheme: dark)');
const showColours = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', showColours);
showColours();

/** A key that no other request has. Browsers make UUIDs only for pages of HTTPS and of this machine. */
const newKey = () =>
  crypto.randomUUID?.() ??
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (it) => it.toString(16)).join('-');

window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#main',
  deepLinking: true,
  tryItOutEnabled: true,
  requestInterceptor(request) {
    // Swagger UI fills in the example of the document. With that, the second POST of a day would be refused.
    const { exampleKey } = document.getElementById('main').dataset;
    if (request.headers?.['Idempotency-Key'] === exampleKey) request.headers['Idempotency-Key'] = newKey();
    return request;
  },
});
