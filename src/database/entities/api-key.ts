import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity({ name: 'api_keys', synchronize: false })
export class ApiKey {
  @PrimaryGeneratedColumn({ type: 'bigint', unsigned: true })
  id!: string;

  @Column({ name: 'customer_id', type: 'bigint', unsigned: true })
  customerId!: string;

  @Column({ type: 'varchar', length: 200 })
  title!: string;

  /** The first characters of the key, so that people can tell keys apart; of no use to call the API. */
  @Column({ type: 'varchar', length: 16 })
  prefix!: string;

  /** SHA-256 of the whole key: 256 random bits need no slow hash. */
  @Column({ name: 'key_hash', type: 'binary', length: 32 })
  keyHash!: Buffer;

  /** False: the key sees only the accounts in api_key_accounts. */
  @Column({ name: 'all_accounts', type: 'boolean' })
  allAccounts!: boolean;

  @CreateDateColumn({ name: 'created_at', type: 'datetime', precision: 6 })
  createdAt!: Date;
}
