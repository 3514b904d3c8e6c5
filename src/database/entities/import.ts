import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity({ name: 'imports', synchronize: false })
export class Import {
  @PrimaryGeneratedColumn({ type: 'bigint', unsigned: true })
  id!: string;

  @Column({ name: 'customer_id', type: 'bigint', unsigned: true })
  customerId!: string;

  /** The key it came with: a key limited to accounts may import into those only. */
  @Column({ name: 'api_key_id', type: 'bigint', unsigned: true })
  apiKeyId!: string;

  @Column({ type: 'varchar', length: 16 })
  format!: string;

  /** receiving: the body is still coming in, and nobody has been answered 202 yet. */
  @Column({ type: 'enum', enum: ['receiving', 'queued', 'running', 'done', 'failed'] })
  status!: 'receiving' | 'queued' | 'running' | 'done' | 'failed';

  /** Rows worked off so far; a crash resumes here. */
  @Column({ type: 'int', unsigned: true, default: 0 })
  bookmark!: number;

  /** Rows in the body; null until all of it has been read. */
  @Column({ type: 'int', unsigned: true, nullable: true })
  received!: number | null;

  @Column({ type: 'int', unsigned: true, default: 0 })
  inserted!: number;

  @Column({ type: 'int', unsigned: true, default: 0 })
  duplicates!: number;

  @Column({ type: 'int', unsigned: true, default: 0 })
  rejected!: number;

  @Column({ type: 'int', unsigned: true, default: 0 })
  deliveries!: number;

  @Column({ type: 'varchar', length: 500, nullable: true })
  error!: string | null;

  @CreateDateColumn({ name: 'received_at', type: 'datetime', precision: 6 })
  receivedAt!: Date;

  @Column({ name: 'started_at', type: 'datetime', precision: 6, nullable: true })
  startedAt!: Date | null;

  @Column({ name: 'finished_at', type: 'datetime', precision: 6, nullable: true })
  finishedAt!: Date | null;
}
