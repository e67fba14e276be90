#!/bin/bash
# run.sh - every fuzz target of the build in the present directory, or in $top_builddir; TAP.
#
# FUZZ_RUNS inputs each (100000), mutated from FUZZ_SEED; UNIT_ONLY="hosts quoting" narrows.
# family: fuzz
here=$(cd "$(dirname "$0")" && pwd) || exit 1
exec "$here/../unit/run.sh" "$here" '^int LLVMFuzzerTestOneInput.*)$'
