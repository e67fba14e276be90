#!/bin/bash
# roce.sh - ports of Ethernet (RoCE) in all conduits: jobs run where index 0 of the GID table does not work, by the GID
# that the user chooses, and with peers of several types; where no GID works the message says so at once.
#
# TEST_CONDUIT as for run-conduit.sh.
# family: roce
# family: roce-vapi last TEST_CONDUIT=vapi
# family: roce-portals last TEST_CONDUIT=portals
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1

conduit=${TEST_CONDUIT:-ibv}
log=$TEST_LOG/roce-$conduit.log
export SOFTHCA=on
unset SOFTHCA_DEVICES SOFTHCA_HOSTS
gid=GASNET_${conduit^^}_GID_INDEX ports=GASNET_${conduit^^}_PORTS
pkey=GASNET_${conduit^^}_PKEY_INDEX
if [ "$conduit" = portals ]; then gid=PTL_GID_INDEX pkey=PTL_PKEY_INDEX ports=PTL_DEVICE; fi

job() { # "GIDS" N PROGRAM NAME=VALUE...: on a port with these GIDs
    local devices=$1 n=$2 program=$3
    shift 3
    case $devices in *link=*) ;; *) devices="1x1;link=ethernet,gids=$devices" ;; esac
    env SOFTHCA_DEVICES="$devices" "$@" timeout -k 2 120 "$TEST_LAUNCH" -spawner=ssh -n "$n" ${under:+"$under"} \
        "$TEST_BUILD/tests/$program-$conduit-${mode:-seq}" >"$log" 2>&1 </dev/null
    status=$?
}

passes() { # NAME JOB...
    local name=$1
    shift
    job "$@"
    [ $status -eq 0 ] && ! grep -q '^not ok' "$log"
    tap_ok $? "$name"
    [ $status -eq 0 ] || tap_tail "$log"
}

# fails NAME PATTERN JOB...: with one line of the job's, which matches; with `lines`, with so many at most.
fails() {
    local name=$1 pattern=$2 right
    shift 2
    job "$@"
    [ $status -ne 0 ] && [ $status -lt 124 ] && grep 'FATAL ERROR' "$log" | grep -qE -- "$pattern" &&
        [ "$(grep -c 'FATAL ERROR' "$log")" -le "${lines:-1}" ]
    right=$?
    tap_ok $right "$name"
    [ $right -eq 0 ] || tap_tail "$log"
}

usual=v1-local+v2-local+v1-ipv4+v2-ipv4
passes "a table as devices have it" $usual 2 testhello GASNET_VERBOSEENV=1
grep -qE 'started by .*softhca0 port 1 at GID 3 ::ffff:10\.[0-9.]+ \(RoCE v2, lo\)' "$log"
tap_ok $? "the GID that is preferred is shown, with type and interface"
mode=par passes "Active Messages" $usual 3 testam
passes "puts and gets" $usual 2 testputget
passes "RoCE v1 alone" v1-local 2 testhello
mode=par passes "index 0 and others do not work: IPv4 is preferred" \
    none+v2-local-unreachable+v2-ipv6-unreachable+v2-ipv4 3 testam
passes "global IPv6 before link-local" v2-local-unreachable+none+v2-ipv6 2 testhello
passes "link-local before RoCE v1" v1-ipv4+v2-local 2 testhello
passes "the last of sixteen" "$(printf 'none+%.0s' {1..15})v2-ipv4" 2 testhello
passes "the index that the user chooses" v2-ipv4-unreachable+v2-ipv6+v1-local 2 testputget "$gid=1"
passes "the same for RoCE v1" v2-ipv4-unreachable+v2-ipv6-unreachable+v1-local 2 testhello "$gid=2"
passes "all peers at start-up" $usual 3 testhello GASNET_CONNECT_STATIC=1

unreachable='GID ::ffff:10\.[0-9.]+ \(RoCE v2\), from GID 0 ::ffff:10\.[0-9.]+ \(RoCE v2, lo\).*Network is unreachable'
fails "a GID whose address the interface does not have" "cannot connect to rank .*$unreachable.*ping -I lo 10\..*$gid" \
    v2-ipv4-unreachable+v1-local 2 testhello
fails "the same at start-up" "cannot connect to rank .*$unreachable.*ping -I lo 10\..*$gid" \
    v2-ipv4-unreachable+v1-local 2 testhello GASNET_CONNECT_STATIC=1
if [ "$conduit" = portals ]; then
    job $usual 1 testhello "$gid=9"
    grep -qE 'libportals: .*PTL_GID_INDEX=9: softhca0 port 1 has no such GID; those that it has: 0 fe80::.*, 3 ::ffff:.* \(RoCE v2, lo\)$' "$log" &&
        [ $status -ne 0 ]
    tap_ok $? "an index that the table does not have: the message lists the table"
else
    fails "an index that the table does not have: the message lists the table" \
        "$gid=9: softhca0 port 1 has no such GID; those that it has: 0 fe80::.*, 3 ::ffff:.* \(RoCE v2, lo\)\. Set it" \
        $usual 2 testhello "$gid=9"
fi
keys='1x1;link=infiniband;pkeys=0xffff+0x8001'
mode=par passes "InfiniBand, by the P_Key of another index" "$keys" 2 testam "$pkey=1"
job "$keys" 1 testhello "$pkey=2"
[ $status -ne 0 ] && grep -qE "$pkey=2: softhca0 port 1 has no such P_Key; those that it has: 0 0xffff, 1 0x8001" "$log"
tap_ok $? "a P_Key that the table does not have: the message lists the table"
fails_index() { # NAME GIDS INDEX
    job "$2" 1 testhello "$gid=$3"
    [ $status -ne 0 ] && grep -qE "$gid=$3: softhca0 port 1 has no such GID" "$log"
    tap_ok $? "$1"
}
fails_index "an entry that is empty" none+v2-ipv4 0
job 'none' 1 testhello
[ $status -ne 0 ] && grep -qE 'softhca0 port 1 has no GID: has its interface an address\?|no verbs device with an active port' "$log"
tap_ok $? "an empty table"

if [ "$conduit" != portals ]; then
    # The two ranks lose each other; both may say so.
    lines=2 fails "a peer that is lost later" "rank 1 .*(retry counter exceeded|VAPI_RETRY_EXC_ERR).*drop UDP port 4791" \
        $usual 2 testputget "SOFTHCA_FAULTS=cut:peer=1,process=0,after=20"
fi

# Two devices with tables of their own: the first process to start uses the first one, the others the second.
cat >"$tap_scratch/two" <<END
#!/bin/bash
device=softhca1
if mkdir "$tap_scratch/claim" 2>/dev/null; then device=softhca0; fi
export $ports=\$device
exec "\$@"
END
chmod +x "$tap_scratch/two"
under=$tap_scratch/two
two() { # GIDS GIDS: of the first and of the second device
    rm -rf "$tap_scratch/claim"
    devices="2x1;link=ethernet;softhca0:gids=$1;softhca1:gids=$2"
}
two v1-local v2-ipv4+v2-local+v1-local
passes "RoCE v1 alone, and both: the common type" "$devices" 3 testhello
two v2-local v2-ipv4+v2-local
mode=par passes "without and with IPv4: the common address family" "$devices" 2 testam
two v1-local v2-ipv4
fails "RoCE v1 alone, and v2 alone" "cannot connect to rank .*no GID of its port.*there .*(RoCE v1|RoCE v2).*here .*(RoCE v1|RoCE v2).*$gid" \
    "$devices" 2 testhello
two v2-ipv4 v2-ipv4-unreachable
fails "a peer that does not answer for its address" "cannot connect to rank .*(No route to host|Network is unreachable).*ping" \
    "$devices" 2 testhello
rm -rf "$tap_scratch/claim"
fails "InfiniBand, and Ethernet" "cannot connect to rank .*its port is one of (InfiniBand|Ethernet).*$ports" \
    '2x1;softhca1:link=ethernet' 2 testhello
rm -rf "$tap_scratch/claim"
fails "P_Keys of different partitions" "cannot connect to rank .*its P_Key is 0x800[12], the one here 0x800[12].*$pkey" \
    '2x1;link=infiniband;softhca0:pkeys=0x8001;softhca1:pkeys=0x8002' 2 testhello
rm -rf "$tap_scratch/claim"
fails "limited members of one partition" "cannot connect to rank .*its P_Key is 0x0001, the one here 0x0001, and limited members" \
    '2x1;link=infiniband;pkeys=1' 2 testhello
tap_end
