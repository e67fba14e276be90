# counters.sh - puts, gets and messages of one operation of tests/bench/vis.c, by the counters of the job.
#
# To be sourced after tap.sh.
# shellcheck shell=bash

# per_operation CONDUIT WAY DIRECTION PIECES BYTES LAYOUT: puts, gets, Requests with data and bytes, of rank 0 for one
# operation, and the bytes of the other's Replies; from the difference of two runs.
per_operation() {
    local conduit=$1 way=$2 direction=$3 times folder
    shift 3
    folder=$(mktemp -d) || return 1
    for times in 2 12; do
        GASNET_STATSFILE=$folder/$times.% timeout -k 2 60 "$TEST_BUILD/gasnetrun_$conduit" -spawner=ssh -n 2 \
            "$TEST_BUILD/tests/bench/vis-$conduit-seq" "$direction" "$way" "$@" $times >"$folder/log" 2>&1 </dev/null || {
            sed 's/^/# /' "$folder/log" >&2
            rm -r "$folder"
            return 1
        }
    done
    awk '$2 == "all" {
            sign = FILENAME ~ /12\.[01]$/ ? 1 : -1
            count[$1 "." $3] += sign * $4
        }
        END {
            bytes = count["0.put_bytes"] + count["0.get_bytes"] + count["0.am_bytes"] + count["1.am_bytes"]
            printf "%d %d %d %d\n", (count["0.puts"] + 5) / 10, (count["0.gets"] + 5) / 10,
                (count["0.requests_medium"] + 5) / 10, (bytes + 5) / 10
        }' "$folder"/2.[01] "$folder"/12.[01]
    rm -r "$folder"
}
