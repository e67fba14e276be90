# packages.sh - Debian packages of the guest's kernel: which one, and their contents, without installing them.
#
# Sourced by build.sh, which sets `vm`.
# shellcheck shell=bash disable=SC2154

unavailable() { # REASON
    echo "$*"
    exit 77
}

newest_kernel() {
    apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: linux-image-\([0-9][^ ]*\)$/\1/p' | head -n 1
}

# The lists of packages may be missing, or older than the packages that their servers have.
update_lists() {
    [ "$(id -u)" -eq 0 ] || return 0
    apt-get -qq -o DPkg::Lock::Timeout=300 update >&2 || true
}

# Sets `release` and `version`, and stores them, so that siw is built for the same kernel.
choose_kernel() {
    release=$(newest_kernel)
    if [ -z "$release" ]; then
        update_lists
        release=$(newest_kernel)
    fi
    [ -n "$release" ] || unavailable "no package linux-image-amd64 in the lists of apt"
    version=$(apt-cache show "linux-image-$release" | sed -n 's/^Version: //p' | head -n 1)
    echo "$release" >"$vm/release"
    echo "$version" >"$vm/version"
}

fetch() { (cd "$vm/packages" && apt-get -qq -o APT::Sandbox::User=root download "$@" >&2); }

unpack() { # DIRECTORY PACKAGE...: those of `version`
    local directory=$1 file
    shift
    rm -rf "$vm/packages" && mkdir -p "$vm/packages"
    fetch "${@/%/=$version}" || { update_lists && fetch "${@/%/=$version}"; } ||
        unavailable "apt-get cannot download $* ($version)"
    for file in "$vm/packages"/*.deb; do dpkg -x "$file" "$directory"; done
    rm -r "$vm/packages"
}
