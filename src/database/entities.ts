import { Column, CreateDateColumn, Entity, JoinColumn, ManyToOne, PrimaryGeneratedColumn } from 'typeorm';

/** Accounts and banks, as TypeORM maps their tables to classes. */

@Entity({ name: 'accounts', synchronize: false })
export class Account {
  @PrimaryGeneratedColumn({ type: 'bigint', unsigned: true })
  id!: string;

  @Column({ name: 'customer_id', type: 'bigint', unsigned: true })
  customerId!: string;

  @Column({ name: 'bank_id', type: 'bigint', unsigned: true })
  bankId!: string;

  @ManyToOne(() => Bank)
  @JoinColumn({ name: 'bank_id' })
  bank!: Bank;

  @Column({ type: 'varchar', length: 200 })
  title!: string;

  /** ISO 4217, upper case. */
  @Column({ type: 'char', length: 3 })
  currency!: string;

  @Column({ type: 'varchar', length: 34, nullable: true })
  iban!: string | null;

  /** The account number as the bank writes it. Statements without an IBAN find the account by it. */
  @Column({ type: 'varchar', length: 64, nullable: true })
  number!: string | null;

  /** The balance of the newest movement that has one. */
  @Column({ type: 'decimal', precision: 20, scale: 2, nullable: true })
  balance!: string | null;

  @Column({ type: 'varchar', length: 16, default: 'active' })
  status!: string;

  /** Decides what happens to a row with the unique id of a stored movement but another direction, amount or date. */
  @Column({ name: 'on_conflict', type: 'varchar', length: 5, default: 'hold' })
  onConflict!: 'hold' | 'store';

  /** Days after the last day of a statement after which the next one is late; null: learnt from earlier statements. */
  @Column({ name: 'late_after_days', type: 'smallint', unsigned: true, nullable: true })
  lateAfterDays!: number | null;

  /** Whether the balances of movements that come as JSON are compared with the movements before them. */
  @Column({ name: 'check_balances', type: 'boolean', default: false })
  checkBalances!: boolean;

  /** Whether statement numbers tell statements apart where their balances do not. */
  @Column({ name: 'statement_numbers', type: 'varchar', length: 6, default: 'use' })
  statementNumbers!: 'use' | 'ignore';

  /** Of text that is not UTF-8 in files about this account; null: the letters decide. */
  @Column({ type: 'varchar', length: 20, nullable: true })
  encoding!: string | null;

  /** Whether a statement has come. Its rows without an id may then be entries of statements. */
  @Column({ name: 'has_statements', type: 'boolean', default: false })
  hasStatements!: boolean;

  /** When an import last contained a known or new movement of this account, or a run of its source last succeeded. */
  @Column({ name: 'last_work', type: 'datetime', precision: 6, nullable: true })
  lastWork!: Date | null;

  /** When a new movement was last stored. */
  @Column({ name: 'last_update', type: 'datetime', precision: 6, nullable: true })
  lastUpdate!: Date | null;

  /** The error of its source. */
  @Column({ type: 'varchar', length: 500, nullable: true })
  error!: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'datetime', precision: 6 })
  createdAt!: Date;
}

/** A bank, named by its customer. Customers do not share banks. */
@Entity({ name: 'banks', synchronize: false })
export class Bank {
  @PrimaryGeneratedColumn({ type: 'bigint', unsigned: true })
  id!: string;

  @Column({ name: 'customer_id', type: 'bigint', unsigned: true })
  customerId!: string;

  @Column({ type: 'varchar', length: 200 })
  name!: string;
}
