#!/bin/bash
# rootfs.sh FOLDER [COMMAND...] - runs COMMAND (./quickstart) in these sources as an ordinary user of a Debian without anything but the
# packages of a build, with 64 MB of /dev/shm: what a container has, and no container engine.
#
# FOLDER becomes the root file system, by mmdebstrap, if it is not there yet; SUITE (bookworm) is the release.  To be run as root.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" && exit 2; }
root=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- ./quickstart

if [ ! -e "$root/etc/debian_version" ]; then
    command -v mmdebstrap >/dev/null || { echo "rootfs.sh: mmdebstrap is not here: apt-get install mmdebstrap" >&2 && exit 1; }
    packages=$(cd "$source" && ./quickstart packages | paste -sd,)
    sources=(/etc/apt/sources.list /etc/apt/sources.list.d/*)
    for i in "${!sources[@]}"; do [ -e "${sources[i]}" ] || unset "sources[$i]"; done
    mmdebstrap --variant=minbase --include="$packages" "${SUITE:-bookworm}" "$root" "${sources[@]}"
    chroot "$root" useradd --create-home user
fi
home=$root/home/user/gasnet
if [ ! -e "$home" ]; then
    mkdir "$home"
    tar -C "$source" -c --exclude=./build --exclude=./.git . | tar -C "$home" -x
    chroot "$root" chown -R user: /home/user/gasnet
fi
exec unshare --mount --pid --fork --net sh -c '
    root=$1 && shift &&
    mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --make-rprivate "$root/dev" &&
    mount -t tmpfs -o size=64m,mode=1777 none "$root/dev/shm" && ip link set lo up &&
    exec chroot --userspec=user:user "$root" env -i HOME=/home/user PATH=/usr/local/bin:/usr/bin:/bin sh -c "cd ~/gasnet && exec \"\$@\"" sh "$@"' \
    sh "$root" "$@"
