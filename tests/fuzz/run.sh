#!/bin/bash
# run.sh - every fuzz target of the build in the present directory, or in $top_builddir; TAP.
#
# For each the inputs in seeds/NAME/, and FUZZ_RUNS (20000) more, mutated from FUZZ_SEED; UNIT_ONLY="hosts quoting"
# narrows. coverage.sh looks further, but needs clang.
# family: fuzz
here=$(cd "$(dirname "$0")" && pwd) || exit 1
exec "$here/../unit/run.sh" "$here" '^int LLVMFuzzerTestOneInput.*)$'
