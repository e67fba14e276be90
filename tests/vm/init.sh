#!/bin/busybox sh
# init.sh - process 1 of the guest: loads the modules, mounts this machine's files, copy on write, and runs setup.sh
# in them.
# shellcheck shell=dash
B=/bin/busybox
$B mount -t proc proc /proc
$B mount -t sysfs sysfs /sys
$B mount -t devtmpfs dev /dev
fail() {
    echo "init: $*" >/dev/console
    $B poweroff -f
}
while read -r module; do
    $B insmod "/modules/$module" || echo "init: cannot load $module" >/dev/console
done </modules/order
$B mkdir -p /mnt/files /mnt/memory /mnt/root /mnt/share
$B mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none share /mnt/share || fail "no share"
$B mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=524288,cache=loose root /mnt/files || fail "no root"
$B mount -t tmpfs -o mode=755,size=60% tmpfs /mnt/memory
$B mkdir /mnt/memory/upper /mnt/memory/work
$B mount -t overlay -o lowerdir=/mnt/files,upperdir=/mnt/memory/upper,workdir=/mnt/memory/work overlay /mnt/root ||
    fail "no overlay"
root=/mnt/root
for directory in proc sys dev; do $B mount --move /$directory $root/$directory; done
$B mkdir -p $root/dev/pts $root/dev/shm
$B mount -t devpts -o mode=620,ptmxmode=666 devpts $root/dev/pts
$B mount -t tmpfs -o mode=1777 tmpfs $root/dev/shm
$B mount -t tmpfs -o mode=755 tmpfs $root/run
$B mkdir -p $root/run/share
$B mount --move /mnt/share $root/run/share
$B ln -sf /proc/self/fd $root/dev/fd
$B ln -sf fd/0 $root/dev/stdin
$B ln -sf fd/1 $root/dev/stdout
$B ln -sf fd/2 $root/dev/stderr
exec $B chroot $root /bin/sh /run/share/setup.sh
