-- Run once, on the first of the three servers. Change the password. The other servers get the account from it.
CREATE DATABASE ledgerbell CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE USER 'ledgerbell'@'%' IDENTIFIED BY 'ledgerbell-password';
GRANT ALL PRIVILEGES ON ledgerbell.* TO 'ledgerbell'@'%';
