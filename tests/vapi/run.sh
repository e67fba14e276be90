#!/bin/bash
# run.sh - libvapi's tests: its calls on the software device, its headers.  TAP on stdout.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
cd "$TEST_BUILD" || exit 1
export SOFTHCA=on

tap_program vapi "every call and code" tests/vapi/rules
for hcas in none maker list strangers ports small; do
    tap_program vapi "HCAs: $hcas" tests/vapi/hcas $hcas
done
. "$TEST_SOURCE/vapi/headers.sh"
tap_end
