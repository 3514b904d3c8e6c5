// The reference of requests: Swagger UI, with the colours that the reader prefers.

const dark = matchMedia('(prefers-color-scheme: dark)');
const showColours = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', showColours);
showColours();

/** A key that no other request has. Browsers make UUIDs only for pages of HTTPS and of this machine. */
const newKey = () =>
  crypto.randomUUID?.() ??
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (it) => it.toString(16)).join('-');

/**
 * Swagger UI sends each example of a parameter. All filters at once find nothing, and some exclude each other, so that the examples of those
 * that may be left out are shown in their descriptions.
 */
function showExample(parameter) {
  const { example, required } = parameter;
  if (example === undefined || required || parameter.name === 'Idempotency-Key') return;
  delete parameter.example;
  parameter.description = `${parameter.description} Example: \`${example}\`.`;
}

/** The document, as it is shown. */
async function readDocument() {
  const answer = await fetch('/openapi.json');
  const spec = await answer.json();
  const operations = Object.values(spec.paths).flatMap((methods) => Object.values(methods));
  for (const parameter of [
    ...Object.values(spec.components.parameters ?? {}),
    ...operations.flatMap(({ parameters = [] }) => parameters),
  ])
    showExample(parameter);
  return spec;
}

window.ui = SwaggerUIBundle({
  spec: await readDocument(),
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
