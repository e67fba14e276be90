# devices.sh - Debian's ibv_devices, ibv_devinfo and ibv_asyncwatch: the attributes of the device.
#
# Sourced by stock.sh.  ibv_asyncwatch has no queue pair, and events of queue pairs and queues go only to
# the context that created them, as on hardware; so it shows events of ports and of the device.
# shellcheck shell=bash disable=SC2154,SC2034 # lib.sh sets and uses them

listed() {
    soft ibv_devices >"$log" 2>&1
    tap_ok $? "ibv_devices runs"
    says "it lists softhca0 with its GUID" '^ *softhca0[[:space:]]+[0-9a-f]{16}$'
    SOFTHCA=off soft ibv_devices >"$log" 2>&1
    ! grep -q softhca0 "$log"
    tap_ok $? "SOFTHCA=off hides it"
    SOFTHCA=maybe soft ibv_devices >"$log" 2>&1
    says "a wrong SOFTHCA is named" 'SOFTHCA=maybe: not one of auto'
}

described() {
    soft ibv_devinfo -v >"$log" 2>&1
    tap_ok $? "ibv_devinfo -v runs"
    says "it names the device" '^hca_id:[[:space:]]+softhca0$'
    says "a firmware version" 'fw_ver:[[:space:]]+[0-9]'
    says "a node GUID" 'node_guid:[[:space:]]+[0-9a-f]{4}(:[0-9a-f]{4}){3}$'
    says "one port" 'phys_port_cnt:[[:space:]]+1$'
    says "that is active" 'state:[[:space:]]+PORT_ACTIVE'
    says "with InfiniBand below" 'link_layer:[[:space:]]+InfiniBand'
    says "a LID" 'port_lid:[[:space:]]+[1-9]'
    says "a GID" 'GID\[ *0\]:[[:space:]]+fe80:'
    says "atomics" 'atomic_cap:[[:space:]]+ATOMIC_HCA'
    says "a limit of queue pairs" 'max_qp:[[:space:]]+[1-9][0-9]+$'
    soft ibv_devinfo -l >"$log" 2>&1
    says "ibv_devinfo -l counts one device" '^1 HCA'
    soft ibv_devinfo -d softhca0 -i 1 >"$log" 2>&1
    says "ibv_devinfo -d -i shows that port" 'port:[[:space:]]+1$'
    ! soft ibv_devinfo -d nonesuch0 >"$log" 2>&1
    tap_ok $? "ibv_devinfo -d refuses a device that is not there"
}

# Ports of Ethernet, as on devices of RoCE.
ethernet() {
    local index
    export SOFTHCA_DEVICES='1x1;link=ethernet,gids=v1-local+v2-local-unreachable+none+v2-ipv4+v2-ipv6'
    soft ibv_devinfo -v >"$log" 2>&1
    tap_ok $? "a port of Ethernet: ibv_devinfo -v runs"
    says "with Ethernet below" 'link_layer:[[:space:]]+Ethernet'
    says "without a LID" 'port_lid:[[:space:]]+0$'
    says "a GID of RoCE v1" 'GID\[ *0\]:[[:space:]]+fe80:.*RoCE v1$'
    says "one of RoCE v2 with IPv4" 'GID\[ *3\]:[[:space:]]+::ffff:10\.[0-9.]+, RoCE v2$'
    ! grep -qE 'GID\[ *2\]' "$log"
    tap_ok $? "an empty entry is not shown"
    for index in 0 3 4; do pair "ibv_rc_pingpong -g $index" ibv_rc_pingpong -c -g $index -n 100; done
    pair "ibv_ud_pingpong -g 3" ibv_ud_pingpong -g 3 -n 100
    pair "ib_write_lat, which chooses the GID itself" ib_write_lat -d softhca0 -F -n 100
    free_port
    serve "$port" ibv_rc_pingpong -p "$port" -g 1 && ! soft ibv_rc_pingpong -p "$port" -g 1 "$server_name" >"$log" 2>&1
    tap_ok $? "ibv_rc_pingpong with a GID that does not work is refused"
    wait "$server"
    grep -q 'Failed to modify QP to RTR' "$log.server"
    tap_ok $? "on its way to RTR"
    unset SOFTHCA_DEVICES
}

# Programs see and use the attributes set by SOFTHCA_DEVICES.
several() {
    local port
    SOFTHCA_DEVICES='2x2;softhca1:fw_ver=3.5.1,vendor_id=0x2c9;softhca1/2:state=down' \
        soft ibv_devinfo -v >"$log" 2>&1
    tap_ok $? "SOFTHCA_DEVICES: ibv_devinfo runs"
    [ "$(grep -c '^hca_id:.*softhca[01]$' "$log")" -eq 2 ]
    tap_ok $? "it shows two devices"
    [ "$(grep -c 'port:[[:space:]]*[12]$' "$log")" -eq 4 ]
    tap_ok $? "with two ports each"
    says "one of them with the firmware" 'fw_ver:[[:space:]]+3\.5\.1$'
    says "and the vendor that were asked for" 'vendor_id:[[:space:]]+0x02c9$'
    says "and a port that is down" 'state:[[:space:]]+PORT_DOWN'
    export SOFTHCA_DEVICES='2x2;softhca0/2:state=down'
    for port in "softhca0 -i 1" "softhca1 -i 1" "softhca1 -i 2"; do
        # shellcheck disable=SC2086 # words
        pair "a pingpong over $port" ibv_rc_pingpong -c -d $port
    done
    soft ib_send_lat -d softhca0 -i 2 >"$log" 2>&1
    says "a port that is down is refused by ib_send_lat" 'Port number 2 state is Down'
    unset SOFTHCA_DEVICES
}

# Each process has its own state of a port, and a fault can change it only when the process posts a
# message; ibv_asyncwatch posts none, so provoke.c does.
shows() { # NAME EVENT
    kill -USR1 $watcher
    await grep -q "$2" "$log"
    says "it shows $1" "$2"
}

watched() {
    local watcher
    "${CC:-cc}" -shared -fPIC -o "$tap_scratch/provoke.so" "$here/provoke.c" -libverbs -pthread
    LD_PRELOAD=$lib:$tap_scratch/provoke.so \
        SOFTHCA_FAULTS='port-down:port=softhca0/1,at=1;port-up:port=softhca0/1,at=2;remove:at=3' \
        bare stdbuf -oL ibv_asyncwatch >"$log" 2>&1 &
    watcher=$!
    await grep -q 'async event FD' "$log"
    says "ibv_asyncwatch opens the device" '^softhca0: async event FD [0-9]+$'
    shows "that a port went down" 'event_type IBV_EVENT_PORT_ERR .10., port 1'
    shows "that it is active again" 'event_type IBV_EVENT_PORT_ACTIVE .9., port 1'
    shows "that the device is gone" 'event_type IBV_EVENT_DEVICE_FATAL .8.'
    kill $watcher
    wait $watcher 2>/dev/null
}

family_devices() {
    need ibverbs-utils ibv_devices ibv_devinfo ibv_asyncwatch || return 0
    need perftest ib_send_lat || return 0
    listed
    described
    several
    ethernet
    watched
}
