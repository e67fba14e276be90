# running.sh - a job in the background, whose ranks make files (ready.h), for scripts that ask about it.
#
# To be sourced after tap.sh; `here` names the folder of these files, `log` a file.
# shellcheck shell=bash disable=SC2034,SC2154

# begin_job N COMMAND...: starts it, and waits until its N ranks are ready; sets `job`, its process, and `number`, by which
# the launcher is asked about it.
begin_job() {
    local n=$1 ready=0 file
    shift
    rm -rf "$here" && mkdir "$here"
    timeout -k 2 100 "$@" >"$log" 2>&1 </dev/null &
    job=$!
    while [ "$ready" -lt "$n" ] && kill -0 $job 2>/dev/null; do
        sleep 0.02 # between two looks
        ready=0
        for file in "$here"/ready.*; do [ ! -e "$file" ] || ready=$((ready + 1)); done
    done
    number=$(sed -n 's/.*this is job \([0-9]*\);.*/\1/p' "$log")
}

# Lets the job go on, and waits for its end; sets `status`.
finish() {
    : >"$here/go"
    wait "$job"
    status=$?
}
