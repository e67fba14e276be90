#!/bin/bash
# run.sh - every simulation of the build in the present directory, or in $top_builddir; TAP.
#
# TEST_SEED repeats a schedule, TEST_ROUNDS says how many of each program; UNIT_ONLY="am exit" narrows.
# family: sim
here=$(cd "$(dirname "$0")" && pwd) || exit 1
exec "$here/../unit/run.sh" "$here"
