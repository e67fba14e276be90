# siw.sh - builds siw.ko, soft iWARP, which Debian's kernels leave out, from the source package of the same kernel.
#
# Sourced by build.sh. Nothing is installed: headers, kbuild and source are unpacked in $vm/siw.
# shellcheck shell=bash disable=SC2034,SC2154

make_siw() {
    local release version tree=$vm/siw number kbuild source headers compiler=gcc-12
    release=$(<"$vm/release") version=$(<"$vm/version")
    number=${release%%-*} && number=${number%.*} # 6.1.0-56-amd64: 6.1
    source=$tree/linux-source-$number/drivers/infiniband/sw/siw
    headers=$tree/usr/src/linux-headers-$release
    rm -rf "$tree"
    # What compiles may be of another revision than what is compiled.
    kbuild=linux-kbuild-$number
    fetch "linux-source-$number" "linux-headers-$release" "linux-headers-${release%-amd64}-common" "$kbuild=$(nearest "$kbuild")" ||
        unavailable "apt-get cannot download the source of the kernel, $version; remove $vm for the newest kernel"
    unpack "$tree"
    tar -C "$tree" -xJf "$tree/usr/src/linux-source-$number.tar.xz" --wildcards "linux-source-$number/drivers/infiniband/sw/siw/*"
    sed -i "s|/usr/src/|$tree/usr/src/|" "$headers/Makefile" # it includes its sibling by an absolute name
    command -v "$compiler" >/dev/null || compiler=cc
    make -s -j"$(nproc)" -C "$headers" CC="$compiler" M="$source" CONFIG_RDMA_SIW=m modules >"$vm/siw.log" 2>&1 ||
        unavailable "siw cannot be compiled: see $vm/siw.log"
    strip -g -o "$vm/siw.ko" "$source/siw.ko"
    rm -r "$tree"
}
[ -e "$vm/siw.ko" ] && [ "$vm/siw.ko" -nt "$vm/kernel" ] || make_siw
