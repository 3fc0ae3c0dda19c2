#!/usr/bin/env bash
# The tables of Airflow, by `airflow db migrate`.
# shellcheck source=environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
run() {
    export AIRFLOW_HOME=$home AIRFLOW__CORE__LOAD_EXAMPLES=False
    export AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=mysql+pymysql://root@127.0.0.1:$port/$database
    exec "$venv/bin/airflow" db migrate
}
main "$@"
