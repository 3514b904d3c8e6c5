/**
 * Every table states its charset and collation, because the server's default may be latin1 or a 0900 collation that MariaDB does
 * not know. `unique_id` and idempotency keys are compared byte by byte. They are VARBINARY, because even utf8mb4_bin pads with
 * spaces ('a' = 'a ').
 *
 * The tables that grow with traffic (transactions, deliveries, retries, attempts) have no foreign keys: each would add a lookup
 * and a shared lock to every stored row. Each of these tables has customer_id, so that customers can be spread over servers.
 */
export const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
