#!/usr/bin/env bash
# The tables of the tests of Rails' Active Record, by Active Record itself (rails.rb).
#
# Packages of Debian 12 have Ruby and Active Record, and the source of the package has the schema.
# The cache gets their files; nothing is installed. The checksums pin the schema, as updates of
# Debian may bring another version of Rails.
# shellcheck source=environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

install() {
    local file package packages
    local apt=(-o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$venv/apt/sources"
        -o "Dir::State::lists=$venv/apt/lists" -o "Dir::Cache=$venv/apt/cache"
        -o "APT::Sandbox::User=root")
    mkdir -p "$venv"/{apt/{sources,lists/partial,cache},packages,root,source}
    # The same registries, for sources.
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
        [[ -e $file ]] || continue
        sed 's/^Types: deb$/Types: deb-src/; s/^deb /deb-src /' "$file" \
            >"$venv/apt/sources/${file##*/}"
    done
    mv "$venv/apt/sources/sources.list" "$venv/apt/sources/first.list" 2>/dev/null || true
    apt-get "${apt[@]}" update -qq
    (cd "$venv/source" && apt-get "${apt[@]}" source -qq --tar-only --download-only rails)
    tar -C "$venv/source" --strip-components 1 --wildcards -xf "$venv"/source/rails_*.orig.tar.* \
        '*/activerecord/test/schema/*'
    (cd "$venv/source/activerecord/test/schema" && sha256sum --check --quiet) <<SUMS
42ba8ea4d8162ef0a30f9aa7c0ad69135b5cd0d4675ded3278a83908c19a1e0b  schema.rb
b6e5946f8e73e93f24709a3797618d8ea58fc390452393e2a9027dbed2f26e06  mysql2_specific_schema.rb
SUMS
    mapfile -t packages <"$requirements"
    (cd "$venv/packages" && apt-get download -qq -o "APT::Sandbox::User=root" "${packages[@]}")
    for package in "$venv"/packages/*.deb; do
        dpkg-deb --extract "$package" "$venv/root"
    done
    rm -rf "$venv/packages" "$venv/apt" "$venv"/source/*.tar.*
}

run() {
    local root=$venv/root folder libraries=
    local gems=$root/usr/share/rubygems-integration
    for folder in "$root"/usr/lib/ruby/vendor_ruby "$root"/usr/lib/*/ruby/vendor_ruby/3.1.0 \
        "$root"/usr/lib/ruby/3.1.0 "$root"/usr/lib/*/ruby/3.1.0 "$gems"/all/gems/*/lib; do
        libraries+=:$folder
    done
    folder=$(echo "$root"/usr/lib/*-linux-gnu*)
    export RUBYLIB=${libraries#:} LD_LIBRARY_PATH=$folder:$root/lib/${folder##*/}
    export GEM_PATH=$gems/all:$gems/3.1.0 GEM_HOME=$home/gems
    exec "$root/usr/bin/ruby3.1" "$here/rails.rb" "$port" "$database" \
        "$venv/source/activerecord/test/schema"
}
main "$@"
