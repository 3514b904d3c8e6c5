import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

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
