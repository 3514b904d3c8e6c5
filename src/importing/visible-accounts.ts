/**
 * The accounts that an import may have movements of: those that its API key sees. An import that a source has collected may have
 * movements of the source's account, or of all accounts of the customer if the source has none. Accounts that are being deleted are left
 * out. Follows the columns of a SELECT, with the import's id as its value. Indexes: the primary keys, and the customer's of accounts.
 */
export const VISIBLE_TO_IMPORT = `
  FROM imports i
  JOIN import_locks l ON l.customer_id = i.customer_id
  JOIN accounts a ON a.customer_id = i.customer_id AND a.status <> 'deleting'
  LEFT JOIN api_keys k ON k.id = i.api_key_id
  LEFT JOIN api_key_accounts s ON s.api_key_id = k.id AND s.account_id = a.id
  WHERE i.id = ? AND (k.all_accounts = 1 OR s.account_id IS NOT NULL
    OR (i.source_id IS NOT NULL AND (i.account_id IS NULL OR i.account_id = a.id)))`;
