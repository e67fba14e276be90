# setup.sh - runs in the guest, among this machine's files: makes network and verbs devices, runs the command of
# guest.sh, stores its status, and powers the guest off.
# shellcheck shell=dash disable=SC2154
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8
. /run/share/settings
for port in /sys/class/virtio-ports/*; do # there is no udev to name it
    [ "$(cat "$port/name")" != output ] || exec >"/dev/${port##*/}" 2>&1 </dev/null
done
ln -s share/log /run/log
hostname "$vm_name"
ip link set lo up
device=eth0
if [ ! -e /sys/class/net/eth0 ]; then
    device=dummy0
fi
ip link set $device mtu 4200
ip addr add "$vm_address/24" dev $device
ip link set $device up
[ ! -e "$vm_siw" ] || insmod "$vm_siw"
for kind in $vm_devices; do rdma link add "${kind}0" type "$kind" netdev $device; done
chmod 666 /dev/infiniband/*
ulimit -l unlimited
ulimit -c 0
cut -d' ' -f1 /proc/uptime >/run/share/ready
cd "$vm_directory" || exit
(exec setsid --wait bash /run/share/command)
echo $? >/run/share/status
dmesg >/run/share/dmesg
exec /bin/busybox poweroff -f
