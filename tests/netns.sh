# netns.sh - hosts for tests: network namespaces, joined by a router in another one.
#
# Sourced after tap.sh.  Host N has the addresses 10.77.N.1 and fd77:N::1; the router is 254 on each
# of its networks and holds the other end of its cable, wN, which can be pulled:
#
#     netns_make 3 || ...      # says why on stderr
#     netns_on 2 ping 10.77.1.1
#     netns_cable 2 down
# shellcheck shell=bash disable=SC2154 # tap.sh sets tap_scratch

netns_name=hosts$$

# Whatever was made goes, however this ends.
netns_remove() {
    local space
    for space in $(ip netns list 2>/dev/null | grep -o "^$netns_name-[a-z0-9]*"); do ip netns del "$space"; done
}
trap 'netns_remove; rm -rf "$tap_scratch"' EXIT

netns_path() { echo "/run/netns/$netns_name-$1"; }

netns_on() { # HOST COMMAND...
    local host=$1
    shift
    ip netns exec "$netns_name-$host" "$@"
}

netns_cable() { # HOST up|down
    ip -n "$netns_name-router" link set "w$1" "$2"
}

netns_ipv4() { # HOST add|del
    ip -n "$netns_name-$1" addr "$2" "10.77.$1.1/24" dev "h$1" || return 1
    [ "$2" = del ] || ip -n "$netns_name-$1" route add default via "10.77.$1.254"
}

netns_host() { # HOST
    local space=$netns_name-$1
    ip netns add "$space" && ip -n "$space" link set lo up &&
        ip link add "h$1" netns "$space" type veth peer name "w$1" netns "$netns_name-router" &&
        ip -n "$space" addr add "fd77:$1::1/64" dev "h$1" nodad &&
        ip -n "$netns_name-router" addr add "10.77.$1.254/24" dev "w$1" &&
        ip -n "$netns_name-router" addr add "fd77:$1::254/64" dev "w$1" nodad &&
        ip -n "$space" link set "h$1" up && netns_cable "$1" up &&
        netns_ipv4 "$1" add &&
        ip -n "$space" route add default via "fd77:$1::254"
}

netns_make() { # HOW MANY
    local host
    ip netns add "$netns_name-router" && ip -n "$netns_name-router" link set lo up &&
        netns_on router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward && echo 1 >/proc/sys/net/ipv6/conf/all/forwarding' ||
        return 1
    for host in $(seq "$1"); do netns_host "$host" || return 1; done
}
