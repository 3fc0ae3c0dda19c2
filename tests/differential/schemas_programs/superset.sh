#!/usr/bin/env bash
# The tables of Superset, by all its migrations since the first release.
# shellcheck source=environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
run() {
    cat >superset_config.py <<CONFIG
SECRET_KEY = "x" * 42
SQLALCHEMY_DATABASE_URI = "mysql+pymysql://root@127.0.0.1:$port/$database"
CONFIG
    export PYTHONPATH=$PYTHONPATH:$home SUPERSET_HOME=$home FLASK_APP=superset
    exec "$venv/bin/superset" db upgrade
}
main "$@"
