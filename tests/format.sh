#!/bin/bash
# format.sh - every C file is as clang-format would write it, every script passes shellcheck, and what is
# generated is current.
# family: format
. "$(dirname "$0")/tap.sh" || exit 1
cd "${TEST_SOURCE:?}/.." || exit 1

# Files that the repository holds; in an unpacked tarball, all there are.
files() { # PATTERN...
    git ls-files -- "$@" 2>/dev/null | grep . && return
    local pattern
    for pattern; do find . -name "$pattern" -not -path './build*'; done
}

# clang-format's taste changes from release to release; the committed style was made with this one.
wanted=14
version=$(clang-format --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
if [ "$version" = $wanted ]; then
    files '*.c' '*.h' | while read -r file; do [ ! -e "$file" ] || echo "$file"; done |
        xargs -d '\n' -n 100 clang-format --dry-run --Werror >"$TEST_LOG/clang-format.log" 2>&1
    status=$?
    tap_ok $status "C files are formatted"
    [ $status -eq 0 ] || tap_note "clang-format -i would change:" \
        $'\n'"$(sed -n 's/:[0-9]*:[0-9]*: error: code should be clang-formatted.*//p' "$TEST_LOG/clang-format.log" | sort -u)"
else
    tap_skip "C files are formatted" "clang-format $wanted needed, ${version:-none} found"
fi

if command -v shellcheck >/dev/null; then
    mapfile -t scripts < <(files '*.sh' quickstart Bootstrap .ci/run generate other/packaging/generate | sort -u)
    shellcheck -x -P SCRIPTDIR -S warning "${scripts[@]}" >"$TEST_LOG/shellcheck.log" 2>&1
    status=$?
    tap_ok $status "scripts pass shellcheck"
    [ $status -eq 0 ] || TEST_TAIL=60 tap_tail "$TEST_LOG/shellcheck.log"
else
    tap_skip "scripts pass shellcheck" "no shellcheck"
fi
other/base/env_table.sh --check ibv-conduit/README.md >"$TEST_LOG/env_table.log" 2>&1 &&
    other/base/env_table.sh --check vapi-conduit/README.md >>"$TEST_LOG/env_table.log" 2>&1 &&
    other/base/env_table.sh --check portals-conduit/README.md >>"$TEST_LOG/env_table.log" 2>&1 &&
    other/base/env_table.sh --check smp-conduit/README.md >>"$TEST_LOG/env_table.log" 2>&1
status=$?
tap_ok $status "each README's table of parameters is that of its params.def"
[ $status -eq 0 ] || tap_tail "$TEST_LOG/env_table.log"
core/counters/counters_table.sh --check ibv-conduit/README.md >"$TEST_LOG/counters_table.log" 2>&1
status=$?
tap_ok $status "the README's table of counters is that of core/counters/counters.def"
[ $status -eq 0 ] || tap_tail "$TEST_LOG/counters_table.log"
other/base/env_table.sh --check other/softhca/README.md >"$TEST_LOG/env_table.log" 2>&1 &&
    other/base/env_table.sh --check other/portals3/README.md >>"$TEST_LOG/env_table.log" 2>&1
status=$?
tap_ok $status "the tables of variables of the software device and of libportals are those of their settings.def"
[ $status -eq 0 ] || tap_tail "$TEST_LOG/env_table.log"
tap_end
