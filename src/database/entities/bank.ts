import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** Banks are shared by all customers: a name is not a secret. */
@Entity({ name: 'banks', synchronize: false })
export class Bank {
  @PrimaryGeneratedColumn({ type: 'bigint', unsigned: true })
  id!: string;

  @Column({ type: 'varchar', length: 200 })
  name!: string;
}
