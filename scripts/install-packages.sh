#!/usr/bin/env bash
# Installs every system package that building and testing need. Quick when all are there: then nothing is downloaded,
# not even the package lists. For Debian and its kin; run as root (or with sudo at hand).
#
#   install-packages.sh           installs what is missing
#   install-packages.sh --check   only says what is missing; exit code 1 when something is
#
# No database server is installed or started: client packages only. Go, a JDK, Maven and Rust are installed only where
# their commands are missing, because many machines have newer ones than the distribution's.
set -euo pipefail

packages=(
    build-essential ca-certificates clang curl git iproute2 lsof mariadb-client mold netcat-openbsd openssl pkg-config
    procps protobuf-compiler python3 python3-venv sysbench util-linux
)

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query --show --showformat='${db:Status-Abbrev}' "$package" 2>/dev/null || true)
    [[ $state == ii* ]] || missing+=("$package")
done
has() { command -v "$1" >/dev/null 2>&1; }
has go || missing+=(golang)
has javac || missing+=(default-jdk-headless)
has mvn || missing+=(maven)
# Rust installed by rustup is not always on the path of a script.
if ! has cargo && [[ ! -x ${CARGO_HOME:-$HOME/.cargo}/bin/cargo ]]; then
    if has rustup; then
        rustup_needed=1
    elif [[ -n $(apt-cache search --names-only '^rustup$' 2>/dev/null) ]]; then
        missing+=(rustup)
        rustup_needed=1
    else
        missing+=(cargo rustc rustfmt)
    fi
fi

if [[ ${1:-} == --check ]]; then
    if ((${#missing[@]} == 0)) && [[ -z ${rustup_needed:-} ]]; then
        echo "install-packages: everything is there"
        exit 0
    fi
    echo "install-packages: missing: ${missing[*]:-} ${rustup_needed:+a Rust toolchain}"
    exit 1
fi
if ((${#missing[@]} > 0)); then
    as_root=()
    if ((EUID != 0)); then
        has sudo || { echo "install-packages: run as root: missing ${missing[*]}" >&2; exit 1; }
        as_root=(sudo)
    fi
    echo "install-packages: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
if [[ -n ${rustup_needed:-} ]]; then
    rustup default stable
fi
echo "install-packages: everything is there"
