import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity({ name: 'customers', synchronize: false })
export class Customer {
  @PrimaryGeneratedColumn({ type: 'bigint', unsigned: true })
  id!: string;

  @Column({ type: 'varchar', length: 200 })
  name!: string;

  /** Sealed; part of every notification's `hash`. */
  @Column({ name: 'api_secret', type: 'varchar', length: 512, select: false })
  apiSecret!: string;

  @CreateDateColumn({ name: 'created_at', type: 'datetime', precision: 6 })
  createdAt!: Date;
}
