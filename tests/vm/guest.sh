#!/bin/bash
# guest.sh - runs a command in a guest with soft RoCE or soft iWARP devices; build.sh has built the guest.
#
#   guest.sh [-c CPU] [-d "rxe siw"] [-l SECONDS] [-k DIRECTORY] [-n NETDEV -i NUMBER] 'COMMAND...'
#
# The guest sees this machine's files, copy on write: what it writes is lost, but for /run/log, which -k copies to
# DIRECTORY. -n: its Ethernet device is that NETDEV of QEMU, and not a dummy; -i: which of the guests on the wire it is.
# The exit status is the command's; 124: SECONDS (default 600) have passed; 125: the guest ended before the command did.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vm=${TEST_BUILD:-$PWD}/vm
cpu=max devices=rxe limit=600 keep='' number=1 network=() processors=2
while getopts c:d:l:k:n:i: option; do
    case $option in
    c) cpu=$OPTARG ;;
    d) devices=$OPTARG ;;
    l) limit=$OPTARG ;;
    k) keep=$OPTARG ;;
    n) network=(-netdev "$OPTARG,id=wire") ;;
    i) number=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { sed -n 4p "$0" >&2 && exit 2; }
if [ ${#network[@]} -gt 0 ]; then
    network+=(-device "virtio-net-pci,netdev=wire,romfile=,mac=52:54:00:77:00:0$number")
    processors=1 # two guests run at once
fi

share=$(mktemp -d "${TMPDIR:-/tmp}/gasnet-guest.XXXXXX") || exit 1
qemu=
trap 'kill $qemu 2>/dev/null; rm -rf "$share"' EXIT
trap 'exit 143' TERM INT HUP
mkdir "$share/log"
cp "$here/setup.sh" "$share"
printf '%s\n' "$*" >"$share/command"
cat >"$share/settings" <<SETTINGS
vm_name=guest$number vm_address=10.77.0.$number vm_devices='$devices' vm_siw='$vm/siw.ko' vm_directory='$PWD'
SETTINGS

# The machine's files under another name, as QEMU's file systems have them: device and inode numbers stay apart.
files() { # TAG PATH OPTIONS
    echo "-fsdev local,id=$1,path=$2,security_model=none,multidevs=remap$3 -device virtio-9p-pci,fsdev=$1,mount_tag=$1"
}
options="console=ttyS0 quiet panic=-1 mitigations=off no5lvl nokaslr no_timer_check random.trust_cpu=on"
options+=" secretmem.enable=1" # memfd_secret, which newer kernels have by default
options+=" tsc=reliable tsc_early_khz=$("$vm/tsc")" # else a clock may be too fast: tsc.c
# KVM is not used: where it is offered but does not serve this kernel, a guest hangs.
machine=(-machine q35 -accel "tcg,thread=multi,tb-size=512" -cpu "$cpu" -m 2048 -smp "$processors"
    -nodefaults -no-user-config -display none -no-reboot -kernel "$vm/kernel" -initrd "$vm/initrd"
    -append "$options"
    -chardev "file,id=console,path=$share/console" -serial chardev:console
    -device virtio-serial-pci -chardev "file,id=output,path=/dev/fd/1,append=on"
    -device "virtserialport,chardev=output,name=output")
began=$(date +%s%N)
exec 3> >(exec cat) # QEMU cannot append to whatever standard output is
# shellcheck disable=SC2046 # words
timeout -k 5 "$limit" qemu-system-x86_64 "${machine[@]}" $(files root / ,readonly=on) $(files share "$share" '') \
    "${network[@]}" </dev/null >&3 &
qemu=$!
wait $qemu
ended=$?
exec 3>&-
status=125
[ $ended -ne 124 ] || status=124
[ ! -s "$share/status" ] || status=$(<"$share/status")
complaint='Kernel panic|Oops|BUG:|WARNING:|general protection'
if [ "$status" -ge 124 ]; then tail -n 30 "$share/console" | sed 's/^/# console: /'; fi
cat "$share/dmesg" "$share/console" 2>/dev/null | grep -E -A 12 "$complaint" | head -n 60 | sed 's/^/# kernel: /'
ms=$((($(date +%s%N) - began) / 1000000))
echo "# guest$number: ready after $(cat "$share/ready" 2>/dev/null || echo '?') s of its clock, ended after" \
    "$((ms / 1000)).$((ms / 100 % 10)) s, status $status"
if [ -n "$keep" ]; then mkdir -p "$keep" && cp -r "$share/log/." "$keep"; fi
exit "$status"
