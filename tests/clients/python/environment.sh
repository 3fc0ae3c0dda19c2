# Sourced by scripts that run Python programs against a server. It provides what requirements.txt lists, and `locked`.
#
# Sets `cache` (SKARV_TEST_CACHE, by default ~/.cache/skarv-tests), where drivers are installed once; `install_python` sets `venv`.

cache=${SKARV_TEST_CACHE:-$HOME/.cache/skarv-tests}
mkdir -p "$cache"

# Runs a command while no other script installs into this cache.
locked() { # COMMAND ARG...
    local result
    exec 9>"$cache/lock"
    flock 9
    "$@"
    result=$?
    exec 9>&-
    return $result
}

# Leaves a complete environment or none. Runs under `locked`.
install_python() {
    local requirements
    requirements=$(dirname "${BASH_SOURCE[0]}")/requirements.txt
    venv=$cache/venv-$(cat "$requirements" <(python3 --version) | sha256sum | cut -c 1-12)
    [[ -e $venv/complete ]] && return
    rm -rf "$venv"
    python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --requirement "$requirements" && touch "$venv/complete"
}
