#!/bin/bash
# build.sh - builds the guest in $TEST_BUILD/vm: kernel, initrd, remote, tsc; with `siw` as its argument also siw.ko.
#
# The kernel is that of Debian's package, which is downloaded and unpacked but not installed. What is there stays:
# `rm -r vm` in the build tree asks for the present kernel. If a part cannot be had here, prints why and exits with
# status 77.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vm=${TEST_BUILD:-$PWD}/vm
. "$here/packages.sh"

# In load order; modprobe adds what each depends on. A module that is built into the kernel is left out.
modules=(virtio_pci virtio_console 9pnet_virtio 9p overlay virtio_net dummy sch_netem crc32_pclmul crc32c_intel
    libcrc32c crc32c_generic ib_uverbs rdma_ucm iw_cm rdma_rxe)

needs() { # COMMAND...
    local command
    for command; do command -v "$command" >/dev/null || unavailable "no program $command"; done
    [ -e /etc/libibverbs.d/rxe.driver ] || unavailable "no provider of rxe: install ibverbs-providers"
    [ "$(uname -m)" = x86_64 ] || unavailable "the guest's kernel is for x86_64, this machine is $(uname -m)"
}

# QEMU starts an uncompressed kernel by itself: a guest without KVM takes ten seconds to uncompress one.
uncompress_kernel() { # VMLINUZ
    local magic offset tool
    for magic in '\xfd7zXZ\x00:xz' '\x28\xb5\x2f\xfd:zstd'; do
        tool=${magic##*:}
        for offset in $(LC_ALL=C grep -aboP "${magic%:*}" "$1" | cut -d: -f1); do
            tail -c +$((offset + 1)) "$1" | "$tool" -dc >"$vm/kernel.new" 2>/dev/null || true
            if [ "$(head -c 4 "$vm/kernel.new" | tail -c 3)" = ELF ]; then
                mv "$vm/kernel.new" "$vm/kernel"
                return
            fi
        done
    done
    unavailable "$1 holds no kernel that xz or zstd uncompresses"
}

make_kernel() {
    [ ! -e "$vm/kernel" ] || return 0
    fetch_kernel
    rm -rf "$vm/unpacked"
    unpack "$vm/unpacked"
    depmod -b "$vm/unpacked" "$release"
    uncompress_kernel "$vm/unpacked/boot/vmlinuz-$release"
}

plain_module() { # FILE DIRECTORY: stores it uncompressed and prints its name
    local name
    name=$(basename "$1")
    case $name in
    *.xz) name=${name%.xz} && xz -dc "$1" >"$2/$name" ;;
    *.zst) name=${name%.zst} && zstd -qdc "$1" >"$2/$name" ;;
    *) cp "$1" "$2" ;;
    esac
    echo "$name"
}

make_initrd() {
    local root=$vm/initramfs file module
    if [ "$vm/initrd" -nt "$here/init.sh" ] && [ "$vm/initrd" -nt "$here/build.sh" ]; then return; fi
    rm -rf "$root"
    mkdir -p "$root"/{bin,dev,proc,sys,mnt,modules}
    for module in "${modules[@]}"; do
        modprobe -d "$vm/unpacked" -S "$(<"$vm/release")" --show-depends "$module" 2>/dev/null || true
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
        plain_module "$file" "$root/modules"
    done >"$root/modules/order"
    cp /bin/busybox "$root/bin"
    install -m 755 "$here/init.sh" "$root/init"
    (cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) >"$vm/initrd.new"
    mv "$vm/initrd.new" "$vm/initrd"
}

needs qemu-system-x86_64 busybox cpio depmod modprobe xz dpkg apt-get apt-cache rdma ip
! ldd /bin/busybox >/dev/null 2>&1 || unavailable "busybox is not static: install busybox-static"
mkdir -p "$vm"
make_kernel
make_initrd
for program in remote tsc; do
    if [ "$here/$program.c" -nt "$vm/$program" ]; then ${CC:-cc} -O1 -Wall -o "$vm/$program" "$here/$program.c"; fi
done
[ "${1-}" != siw ] || . "$here/siw.sh"
