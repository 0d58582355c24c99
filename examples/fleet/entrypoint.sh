#!/bin/sh
# Takes the password of the database from a secret, so that it is in no image and in no compose file.
set -eu
PGPASSWORD="$(cat /run/secrets/db_password)"
export PGPASSWORD
exec jp "$@"
