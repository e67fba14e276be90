#!/bin/bash
# stock.sh [FAMILY...] - Debian's unmodified verbs programs on the software device, preloaded.
# TAP on stdout; nothing may remain.  Without arguments: all families.
#
# BUILDDIR (or top_builddir) names the build tree, default: the present directory.  A family is a
# file of this folder that defines family_NAME; lib.sh has the shared functions.
# family: stock
# shellcheck source-path=SCRIPTDIR

export TEST_BUILD=${TEST_BUILD:-${BUILDDIR:-${top_builddir:-$PWD}}}
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=tests/tap.sh
. "$here/../../../../tests/tap.sh"
# shellcheck source=other/softhca/tests/stock/lib.sh
. "$here/lib.sh"
unset SOFTHCA_EVENTS # as users have it

tap_private_shm "$0" "$@"
private_network "$0" "$@"
[ -e "$lib" ] || { tap_ok 1 "$lib is built" && tap_end; }

shm_files() { find /dev/shm -mindepth 1 2>/dev/null | sort; }

files_before=$(shm_files)
[ $# -gt 0 ] || set -- devices pingpong perftest udapl mpi hosts
for family; do
    started=$(now_ms)
    # shellcheck source=/dev/null
    . "$here/$family.sh"
    "family_$family"
    tap_note "$family: $((($(now_ms) - started) / 1000)) s"
done

no_orphans "$marker" 5
tap_ok $? "no process is left"
if [ "$TEST_PRIVATE_SHM" = 1 ]; then
    [ "$(shm_files)" = "$files_before" ]
    tap_ok $? "no file is left in /dev/shm"
else
    tap_skip "no file is left in /dev/shm" "no mount namespace"
fi
tap_end
