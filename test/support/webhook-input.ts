/** A webhook that the API accepts. */
export const webhook = (fields: object = {}) => ({
  title: 'Muhasebe',
  endpoint: 'http://127.0.0.1:9/hook',
  event: 'NEW_TRANSACTION',
  account: 'all',
  ...fields,
});
