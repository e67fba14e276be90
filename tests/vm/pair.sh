#!/bin/bash
# pair.sh - runs a command in the first of two guests with a wire between them; the second one serves `remote`.
#
#   pair.sh [OPTION OF guest.sh...] 'COMMAND...'
#
# The guests are 10.77.0.1 and 10.77.0.2. The exit status is the command's. The second guest is powered off when the
# first one has ended; what it says is shown if the command fails.
# shellcheck disable=SC2016
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vm=${TEST_BUILD:-$PWD}/vm
wire=$(mktemp -d "${TMPDIR:-/tmp}/gasnet-wire.XXXXXX") || exit 1
first='' second=''
trap 'kill $first $second 2>/dev/null; wait; rm -rf "$wire"' EXIT
trap 'exit 143' TERM INT HUP
end() { # OWN PEER: an end of the wire, for QEMU
    echo "dgram,local.type=unix,local.path=$wire/$1,remote.type=unix,remote.path=$wire/$2"
}
"$here/guest.sh" -l 3600 -n "$(end b a)" -i 2 "exec '$vm/remote' -s" >"$wire/second.log" 2>&1 &
second=$!
"$here/guest.sh" -n "$(end a b)" -i 1 "$@" &
first=$!
wait $first
status=$?
kill $second 2>/dev/null
[ $status -eq 0 ] || sed 's/^/# second guest: /' "$wire/second.log"
exit $status
