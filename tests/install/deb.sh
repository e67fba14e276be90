#!/bin/bash
# deb.sh - the Debian packages: made of the release and of this build tree, clean for lintian, installed over a copy of this
# machine's file system, used there by their own test, and removed, after which nothing of them is left.
#
# Alone: make install links the libraries anew in the build tree, where programs then find half of them.
# family: deb alone
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
unset LD_LIBRARY_PATH PKG_CONFIG_PATH PKG_CONFIG_LIBDIR MAKEFLAGS MFLAGS MAKELEVEL "${!GASNET_@}" SOFTHCA SOFTHCA_EVENTS
cd "$tap_scratch" || exit 1
log=$TEST_LOG/deb.log
: >"$log"

for tool in dpkg-buildpackage dh lintian; do
    command -v $tool >/dev/null || { tap_skip "Debian packages" "$tool is not here" && tap_end; }
done
for program in "$TEST_BUILD"/.libs/libgasnet-{ibv,vapi,portals,smp}-{seq,par}.{so,a}; do
    [ -e "$program" ] || { tap_skip "Debian packages" "this build has no ${program##*/}" && tap_end; }
done

stage() { # NAME COMMAND...: one step; the rest makes no sense without it
    local name=$1 status=0
    shift
    printf '\n$ %s\n' "$*" >>"$log"
    "$@" >"$tap_scratch/output" 2>&1 </dev/null || status=$?
    cat "$tap_scratch/output" >>"$log"
    tap_ok $status "$name"
    [ $status -eq 0 ] || { tap_tail "$tap_scratch/output" && tap_end; }
}

make_dist() { make -C "$TEST_BUILD" dist XZ_OPT=-0 && mv "$TEST_BUILD"/gasnet-*.tar.xz .; }
stage "make dist" make_dist
stage "dpkg-buildpackage, of this tree; every installed file is in a package" \
    "$TEST_SOURCE/../other/packaging/deb.sh" gasnet-*.tar.xz packages "$TEST_BUILD"
packages=$(grep -c '^Package:' packages/gasnet-*/debian/control)
[ "$(find packages -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' | wc -l)" = "$packages" ]
tap_ok $? "there are the $packages packages of debian/control"
stage "lintian has nothing to say" lintian --suppress-tags initial-upload-closes-no-bugs --fail-on error,warning packages/*.changes

# In a mount namespace: the machine's files, over which what is written stays apart.
over=$tap_scratch/over
mkdir "$over"
inside() { # COMMAND: by a shell there; what was written is in $over/written
    unshare -m sh -c "
        mount -t tmpfs none '$over' && cd '$over' && mkdir written work root &&
        mount -t overlay overlay -o lowerdir=/,upperdir=written,workdir=work root &&
        mount --rbind /dev root/dev && mount --rbind /sys root/sys && mount -t proc proc root/proc &&
        mount --bind '$tap_scratch' root/mnt || exit 77
        chroot root sh -c '$1'"
}
inside true
if [ $? -eq 77 ]; then
    tap_skip "installed, used and removed" "no mount namespace with an overlay here"
    tap_end
fi
names=$(sed -n 's/^Package: //p' packages/gasnet-*/debian/control | paste -sd' ')
stage "they are installed, and their own test uses them" inside "cd /mnt/packages &&
    dpkg -i \$(ls *.deb | grep -v dbgsym) && gasnet-*/debian/tests/hello"
cat >traces <<'END'
dpkg -i $(ls *.deb | grep -v dbgsym) && dpkg -P "$@" || exit
echo '--- traces'
find /etc /usr /opt /srv -newer /mnt/began ! -type d ! -path /etc/ld.so.cache -print
for name; do dpkg -L "$name" 2>/dev/null || :; done
END
touch began
stage "installed and removed" inside "cd /mnt/packages && sh /mnt/traces $names >/mnt/messages"
left=$(sed '1,/^--- traces$/d' messages)
[ -z "$left" ]
tap_ok $? "nothing of them is left${left:+: $left}"
tap_end
