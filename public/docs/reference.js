window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#main',
  deepLinking: true,
  tryItOutEnabled: true,
});
