-- Run once on each of the three servers, as root, before it joins the group. Change both passwords.
-- These accounts are no transactions of the group: each server has its own.
SET SQL_LOG_BIN = 0;
-- Until the server starts again, and then until it joins the group.
SET GLOBAL super_read_only = OFF;
CREATE USER 'recovery'@'%' IDENTIFIED BY 'recovery-password';
GRANT REPLICATION SLAVE, BACKUP_ADMIN, CONNECTION_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO 'recovery'@'%';
CREATE DATABASE ledgerbell CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE USER 'ledgerbell'@'%' IDENTIFIED BY 'ledgerbell-password';
GRANT ALL PRIVILEGES ON ledgerbell.* TO 'ledgerbell'@'%';
GRANT SELECT ON performance_schema.replication_group_members TO 'ledgerbell'@'%';
SET SQL_LOG_BIN = 1;
CHANGE REPLICATION SOURCE TO SOURCE_USER = 'recovery', SOURCE_PASSWORD = 'recovery-password'
  FOR CHANNEL 'group_replication_recovery';
