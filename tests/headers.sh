#!/bin/bash
# headers.sh - every header of the inside compiles alone, so that a file includes what it needs and no more; and
# doc/porting.md has each call of core/network.h.
#
# Public headers are judged by tools/headers.sh and install/run.sh, as clients find them.
# family: headers
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh" || exit 1
cd "$TEST_SOURCE/.." || exit 1

# The halves of a network, which core/network.h includes between its types and its calls; and a rule over types that
# core/ib and the simulator each have their own of.
exempt='core/network_defaults.h core/ib/network_ib.h core/ib/qp_select.h core/ib/atomics.h portals-conduit/network_portals.h'
exempt+=' core/rings/local_rings.h'
exempt+=' ibv-conduit/conduit_network.h vapi-conduit/conduit_network.h portals-conduit/conduit_network.h'
exempt+=' smp-conduit/conduit_network.h'

# shellcheck disable=SC2317 # run by xargs
# alone HEADER: as its conduit's library, or as the part of other/ to which it belongs.
alone() {
    local conduit=ibv mode=-DGASNET_PAR segment=FAST
    case $1 in
    portals-conduit/* | vapi-conduit/* | smp-conduit/*) conduit=${1%%-*} ;;
    core/*_firehose.h) segment=LARGE ;;
    other/base/*) mode=-DGASNETT_THREAD_SAFE ;;
    esac
    "${CC:-cc}" -std=gnu11 -fsyntax-only -Wall -Wextra -Wno-unused-function -Wno-unused-parameter -Werror -D_GNU_SOURCE "$mode" -DGASNET_NDEBUG "-DGASNET_SEGMENT_$segment" \
        -I. -Iinclude "-Iinclude/$conduit-conduit" "-I$conduit-conduit" -I"$TEST_BUILD" -I"$TEST_BUILD/include" \
        -Iother/portals3/include -Iother/vapi/include -Iother/base/completion-queues -DNET_IB_HCAS=2 -DNET_IB_POLL_LOCK=0 -DGASNETC_RCV_THREAD=1 \
        "-DGASNETC_PARAMS_DEF=\"$conduit-conduit/params.def\"" -DGASNETI_NO_LINKCHECK -x c -include "$1" /dev/null 2>&1 ||
        echo "FAILS $1"
}
export -f alone
export TEST_BUILD

for folder in core extended-ref ibv-conduit vapi-conduit portals-conduit smp-conduit other/*/; do
    folder=${folder%/}
    headers=()
    while read -r header; do
        case " $exempt " in *" $header "*) ;; *) headers+=("$header") ;; esac
    done < <(find "$folder" -name '*.h' -not -path '*/include/*' | sort)
    [ ${#headers[@]} -gt 0 ] || continue
    said=$(printf '%s\n' "${headers[@]}" | xargs -P "$(nproc)" -I{} bash -c 'alone {}')
    tap_ok "$([ -z "$said" ]; echo $?)" "each header of $folder compiles alone (${#headers[@]})"
    [ -z "$said" ] || tap_note "$said"
done

calls=$(grep -oE '\<net_[a-z_]+\(' core/network.h | tr -d '(' | sort -u)
told=$(grep -oE '^\| `net_[a-z_]+`' doc/porting.md | tr -d '|` ' | sort -u)
[ "$(wc -w <<<"$calls")" -gt 30 ] && [ "$calls" = "$told" ]
status=$?
tap_ok $status "the table of doc/porting.md has the calls of core/network.h"
[ $status -eq 0 ] || tap_note "$(diff <(echo "$calls") <(echo "$told") | grep '[<>]')"
tap_end
