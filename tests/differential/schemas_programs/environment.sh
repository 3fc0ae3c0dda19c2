# Sourced by the programs of this directory:
#
#   PROGRAM prepare CACHE                  installs the packages of PROGRAM.txt, once
#   PROGRAM run CACHE PORT DATABASE HOME   makes the tables; HOME is an empty directory
#
# A program defines `run`, and `install` where PROGRAM.txt does not list packages of PyPI.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mode=$1 cache=$2
name=$(basename "$0" .sh)
requirements=$here/$name.txt
# Where `prepare` installs: another directory for other versions.
venv=$cache/$name-$(cat "$requirements" <(python3 --version) | sha256sum | cut -c 1-12)
# PyMySQL under the name of the driver that the products ask for.
export PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1

install() {
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --requirement "$requirements"
}

# Executes the mode. `prepare` leaves a complete environment or none.
main() {
    if [[ $mode == prepare ]]; then
        exec 9>"$cache/lock"
        flock 9
        [[ -e $venv/complete ]] && exit
        rm -rf "$venv"
        install
        touch "$venv/complete"
        exit
    fi
    port=$3 database=$4 home=$5
    cd "$home"
    run
}
