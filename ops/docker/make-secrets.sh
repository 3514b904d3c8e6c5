#!/bin/sh
# Makes the secrets of docker-compose.yml in ./secrets, or in another folder: a file for each, and what exists is kept. Needs openssl.
# The folder is yours alone. The files are readable, because the users in the containers have other ids than you.
set -eu
folder="${1:-$(dirname "$0")/../../secrets}"
mkdir -p "$folder"
chmod 700 "$folder"
cd "$folder"

make() {
  [ -s "$1" ] || printf %s "$2" >"$1"
  chmod 444 "$1"
}

make mysql_password "$(openssl rand -hex 24)"
make mysql_root_password "$(openssl rand -hex 24)"
make redis_password "$(openssl rand -hex 24)"
make database_url "mysql://ledgerbell:$(cat mysql_password)@mysql:3306/ledgerbell"
make redis_url "redis://:$(cat redis_password)@redis:6379/0"
make secret_key "$(openssl rand -base64 32)"
make admin_password "$(openssl rand -hex 12)"
