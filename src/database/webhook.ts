import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { BODIES, ENCODINGS, HASH_ENCODINGS, WEBHOOK_EVENTS } from './webhook-enums.ts';

@Entity({ name: 'webhooks', synchronize: false })
export class Webhook {
  @PrimaryGeneratedColumn({ type: 'bigint', unsigned: true })
  id!: string;

  @Column({ name: 'customer_id', type: 'bigint', unsigned: true })
  customerId!: string;

  @Column({ type: 'varchar', length: 200 })
  title!: string;

  @Column({ type: 'varchar', length: 500, nullable: true })
  description!: string | null;

  @Column({ type: 'varchar', length: 2048 })
  endpoint!: string;

  @Column({ type: 'enum', enum: WEBHOOK_EVENTS })
  event!: (typeof WEBHOOK_EVENTS)[number];

  /** null: every account of the customer. */
  @Column({ name: 'account_id', type: 'bigint', unsigned: true, nullable: true })
  accountId!: string | null;

  /**
   * paused: by its owner or by quarantine. The webhook still matches, and its deliveries are pending until it is active again.
   * disabled: by a 410 or five days of failures. The webhook matches nothing until it is active again.
   */
  @Column({ type: 'enum', enum: ['active', 'paused', 'disabled', 'deleted'], default: 'active' })
  status!: 'active' | 'paused' | 'disabled' | 'deleted';

  @Column({ name: 'status_reason', type: 'varchar', length: 500, nullable: true })
  statusReason!: string | null;

  /** Sealed `whsec_…`. */
  @Column({ type: 'varchar', length: 512, select: false })
  secret!: string;

  @Column({ type: 'enum', enum: ENCODINGS })
  encoding!: (typeof ENCODINGS)[number];

  /** extended: with more data from the bank than the twelve fields. */
  @Column({ type: 'enum', enum: BODIES, default: 'standard' })
  body!: (typeof BODIES)[number];

  @Column({ name: 'hash_encoding', type: 'enum', enum: HASH_ENCODINGS })
  hashEncoding!: (typeof HASH_ENCODINGS)[number];

  @Column({ type: 'boolean' })
  ordered!: boolean;

  /** Most POSTs per second. null: no limit. */
  @Column({ name: 'rate_limit', type: 'int', unsigned: true, nullable: true })
  rateLimit!: number | null;

  @Column({ name: 'max_in_flight', type: 'smallint', unsigned: true })
  maxInFlight!: number;

  /** The subscriber's own headers as a JSON object. Sealed, because they may contain a token. */
  @Column({ type: 'text', nullable: true, select: false })
  headers!: string | null;

  /** Grows with each change, so that a delivery run notices the change between two batches. */
  @Column({ type: 'int', unsigned: true, default: 1 })
  revision!: number;

  @CreateDateColumn({ name: 'created_at', type: 'datetime', precision: 6 })
  createdAt!: Date;
}
