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

# Sets `release` and `version`; false where no list names a kernel.
choose_kernel() {
    release=$(newest_kernel)
    [ -n "$release" ] || return 1
    version=$(apt-cache show "linux-image-$release" | sed -n 's/^Version: //p' | head -n 1)
}

# Fetches the kernel, and stores what it is, so that siw is built for the same one.
fetch_kernel() {
    if ! choose_kernel || ! fetch "linux-image-$release"; then
        update_lists
        choose_kernel || unavailable "the lists of apt have no package linux-image-amd64"
        fetch "linux-image-$release" ||
            unavailable "apt-get cannot download the package linux-image-$release $version"
    fi
    echo "$release" >"$vm/release"
    echo "$version" >"$vm/version"
}

# fetch PACKAGE[=VERSION]...: into $vm/packages; of `version`, if none is named.
fetch() {
    local packages=() package
    for package; do
        [[ $package == *=* ]] || package+="=$version"
        packages+=("$package")
    done
    rm -rf "$vm/packages"
    mkdir -p "$vm/packages"
    (cd "$vm/packages" && apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}" >&2)
}

# nearest PACKAGE: its version that equals or follows `version`, else the last before. An archive does not keep all
# packages of a source for the same time.
nearest() {
    local last=$version candidate
    while read -r candidate; do
        last=$candidate
        ! dpkg --compare-versions "$candidate" ge "$version" || break
    done < <(apt-cache madison "$1" | awk '{ print $3 }' | sort -uV)
    echo "$last"
}

unpack() { # DIRECTORY: what has been fetched
    local file
    for file in "$vm/packages"/*.deb; do dpkg -x "$file" "$1"; done
    rm -r "$vm/packages"
}
