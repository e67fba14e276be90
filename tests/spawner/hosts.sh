#!/bin/bash
# hosts.sh - jobs that span hosts: gasnetrun, a real sshd on each host, the software device over TCP.
#
# A host is a network namespace with its own name, its own /dev/shm and an sshd; the launcher is on
# the first.  The library sets SOFTHCA_HOSTS.
# family: hosts
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../netns.sh"
cd "$TEST_BUILD" || exit 1
unset SOFTHCA_DEVICES SOFTHCA_FAULTS SOFTHCA_HOSTS SOFTHCA_HOST SOFTHCA_SECRET
unset GASNET_SSH_NODEFILE GASNET_SSH_OPTIONS GASNET_SSH_CMD GASNET_NODEFILE

conduit=${TEST_CONDUIT:-ibv}
hosts=3 bound=120
export TEST_SEED=${TEST_SEED:-$((RANDOM << 15 | RANDOM))}
tap_note "TEST_SEED=$TEST_SEED repeats this run"

if ! why=$(netns_make $hosts 2>&1); then
    tap_skip "jobs that span hosts" "no network namespaces: ${why%%$'\n'*}"
    tap_end
fi

# --- hosts -----------------------------------------------------------------------------------------

# A host is the namespaces of this process; nsenter joins them.
keeper=() own_files=$tap_scratch/own
mkdir "$own_files"
be_host() { # HOST
    # Not by `ip netns exec`, whose new /sys has no cgroups, which Slurm looks for.
    # The account's .bashrc would run on all hosts at once.
    # shellcheck disable=SC2016 # for the shell inside
    nsenter "--net=$(netns_path "$1")" unshare -u -m sh -c '
        hostname "host$1" && mount -t tmpfs -o size=1g none /dev/shm && mount -t tmpfs none "$2" &&
        { [ ! -f "$3/.bashrc" ] || mount --bind /dev/null "$3/.bashrc"; } && exec sleep infinity' \
        sh "$1" "$own_files" "$(getent passwd "$(id -un)" | cut -d: -f6)" &
    keeper[$1]=$!
    until [ "$(cat "/proc/${keeper[$1]}/comm" 2>/dev/null)" = sleep ]; do
        kill -0 "${keeper[$1]}" 2>/dev/null || return 1
        sleep 0.02 # between two looks
    done
}
on() { # HOST COMMAND...
    local host=$1
    shift
    nsenter -t "${keeper[$host]}" -n -u -m --wd="$PWD" "$@"
}

# shellcheck disable=SC2317 # the trap calls it
end_hosts() {
    # shellcheck disable=SC2046 # a list of numbers
    kill "${keeper[@]}" "${slurm[@]}" $(cat "$tap_scratch"/sshd.*.pid 2>/dev/null) 2>/dev/null
    [ ${#slurm[@]} = 0 ] || wait "${slurm[@]}" 2>/dev/null # they still write logs
    netns_remove
    rm -rf "$tap_scratch"
}
trap end_hosts EXIT
trap 'exit 143' TERM INT # runs end_hosts

keys() {
    ssh-keygen -q -t ed25519 -N '' -f "$tap_scratch/host_key" &&
        ssh-keygen -q -t ed25519 -N '' -f "$tap_scratch/user_key" &&
        ssh-keygen -q -t ed25519 -N '' -f "$tap_scratch/other_key" &&
        cp "$tap_scratch/user_key.pub" "$tap_scratch/authorized" && mkdir -p /run/sshd &&
        known_hosts all '*' host_key && ssh_config all
}
known_hosts() { # NAME HOSTS KEY: a list of one line, which knows the hosts by the key
    echo "$2 $(cut -d' ' -f1,2 "$tap_scratch/$3.pub")" >"$tap_scratch/known.$1"
}
ssh_config() { # NAME: of a user who has that list, and no other
    cat >"$tap_scratch/ssh_config.$1" <<END
IdentityFile $tap_scratch/user_key
IdentitiesOnly yes
UserKnownHostsFile $tap_scratch/known.$1
GlobalKnownHostsFile /dev/null
LogLevel ERROR
END
}

serve_ssh() { # HOST
    cat >"$tap_scratch/sshd.$1" <<END
HostKey $tap_scratch/host_key
AuthorizedKeysFile $tap_scratch/authorized
PidFile $tap_scratch/sshd.$1.pid
PermitRootLogin yes
StrictModes no
UsePAM no
MaxStartups 100
END
    on "$1" /usr/sbin/sshd -f "$tap_scratch/sshd.$1" -E "$TEST_LOG/hosts_sshd.$1.log"
}

servers=''
keys || { tap_ok 1 "keys for ssh" && tap_end; }
for host in $(seq $hosts); do
    if ! be_host "$host" || ! serve_ssh "$host"; then
        tap_ok 1 "host $host and its sshd"
        tap_end
    fi
    servers+="10.77.$host.1 "
done
export GASNET_SSH_SERVERS=$servers GASNET_SSH_OPTIONS="-F $tap_scratch/ssh_config.all"

# --- jobs ------------------------------------------------------------------------------------------

left_shm() {
    local host
    for host in $(seq $hosts); do on "$host" sh -c 'ls -A /dev/shm'; done
}

spawner=ssh patience=2 inside=() alone=() slurm=()
# Runs PROGRAM by the launcher on host 1; left-over processes and files are added to $wrong.
job() { # LABEL N PROGRAM ARGS...
    local label=$1 n=$2 start launch=("${alone[@]}")
    shift 2
    [ ${#launch[@]} -gt 0 ] || launch=("$TEST_LAUNCH" "-spawner=$spawner" -n)
    log=$TEST_LOG/hosts_${label//[^A-Za-z0-9_]/_}.log marker=job.$$.$tap_count wrong=''
    start=$(now_ms)
    TEST_MARKER=$marker TEST_EXPECT_RANKS=$n on 1 timeout -k 5 $bound \
        "${inside[@]}" "${launch[@]}" "$n" "$@" >"$log" 2>&1 <"${input:-/dev/null}"
    status=$? ms=$(($(now_ms) - start))
    no_orphans "$marker" $patience || wrong+='; processes left behind'
    [ -z "$(left_shm)" ] || wrong+='; files left in /dev/shm'
}

ends() { # LABEL STATUS
    [ "$status" -eq "$2" ] || wrong+="; status $status instead of $2"
    tap_note "$ms ms"
    tap_ok "$([ -z "$wrong" ]; echo $?)" "$1${wrong:+ (${wrong#; })}"
    if [ -n "$wrong" ]; then tap_tail "$log"; fi
}

all_rules() { # the program printed rules, and all hold
    grep -q '^ok ' "$log" && ! grep -q '^not ok ' "$log" || wrong+='; a rule does not hold'
}

program() { echo "$TEST_BUILD/tests/$1-$conduit-${2:-seq}"; }

job "hosts" 6 sh -c 'hostname'
[ "$(sort "$log" | uniq -c | tr -s ' \n' ' ')" = " 2 host1 2 host2 2 host3 " ] || wrong+='; not two on each host'
ends "six processes on three hosts (IB-S4, S7)" 0

GASNET_SSH_OUT_DEGREE=1 GASNET_SSH_LAYOUT=cyclic job "tree" 7 sh -c 'hostname'
[ "$(sort "$log" | uniq -c | tr -s ' \n' ' ')" = " 3 host1 2 host2 2 host3 " ] || wrong+='; not dealt out'
ends "the launcher starts one host, that one the next, and ranks are dealt out" 0

job "testhello" 3 "$(program testhello par)"
all_rules
ends "testhello par, one process per host" 0
# The software device listens on each host, and libportals has a socket; each rank reports what it refuses a few times.
job "strangers" 3 "$(program job/teststrangers)"
all_rules
grep -q '^# attacked [0-9]* UDP and [1-9][0-9]* TCP ports' "$log" || wrong+='; nothing was attacked'
[ "$(grep -cvE '^(not )?ok |^#|^1\.\.' "$log")" -le 18 ] || wrong+='; more than a few lines'
ends "what other users send to the sockets of a job between hosts changes nothing" 0
for name in testam testputget testbarrier; do
    job "$name" 2 "$(program $name)"
    all_rules
    ends "$name seq between two hosts" 0
done

if [ "$conduit" = ibv ] && grep -q 'HAVE_RDMACM = 1' "$TEST_BUILD/Makefile"; then
    for devices in '1x1' '1x1;transport=iwarp'; do
        SOFTHCA_DEVICES=$devices GASNET_CONNECT=rdmacm job "manager" 5 "$(program testconnect)"
        all_rules
        ends "testconnect seq, connected by the connection manager: $devices" 0
    done
fi

TEST_ONLY=IB-R8 job "64 MiB" 2 "$(program testputget)" 64
all_rules
ends "64 MiB in one put and one get" 0

# The environment and arguments of a rank (IB-S4 to S6) from a launcher on a machine without ranks.
here=$PWD place="$tap_scratch/it's a \"place\""
printf 'to rank 0\n' >"$tap_scratch/input"
mkdir "$place" && cd "$place" || exit 1
export HOSTS_TEST_WORD=$' a "b" \n'"c'd\$e"
# shellcheck disable=SC2016 # for the shell of each rank
GASNET_SSH_SERVERS="10.77.2.1 10.77.3.1" GASNET_SSH_LAYOUT=cyclic input=$tap_scratch/input job "given" 3 -v -N 2 \
    sh -c 'printf "<%s|%s|%s|%s|%s>\n" "$(hostname)" "$PWD" "$HOSTS_TEST_WORD" "$*" "$(cat)" | tr "\n" /; echo' \
    sh 'one  two' '$three' "f'our" '*'
cd "$here" || exit 1
given="|$place|${HOSTS_TEST_WORD/$'\n'//}|one  two \$three f'our *|"
printf '%s\n' "<host2${given}to rank 0>/" "<host2$given>/" "<host3$given>/" >"$tap_scratch/given"
[ "$(grep '^<' "$log" | sort)" = "$(sort "$tap_scratch/given")" ] || wrong+='; not what was given'
grep -q '^gasnetrun_.*: ranks 0-2 by 2 on host 10.77.2.1:' "$log" && grep -q ': rank 1 on host 10.77.3.1:' "$log" ||
    wrong+='; -v does not print the layout'
ends "directory, environment, words and input reach two other hosts, cyclic, as -v prints (IB-S5, S6)" 0
unset HOSTS_TEST_WORD

# Names that resolve on the launcher's machine only, and a name that resolves to a loopback address.
printf '127.0.0.1 localhost\n127.0.1.1 loopy\n10.77.2.1 second\n' >"$tap_scratch/names"
on 1 mount --bind "$tap_scratch/names" /etc/hosts
GASNET_SSH_SERVERS="10.77.1.1 second 10.77.3.1" job "name" 3 "$(program testhello)"
all_rules
ends "a host whose name no other knows (IB-S7)" 0
GASNET_SSH_SERVERS="10.77.1.1 loopy 10.77.3.1" job "loopback" 3 "$(program testhello)"
all_rules
[ "$(grep -c '^gasnetrun_.*: warning: host loopy is reached by the loopback address 127.0.1.1: ' "$log")" = 1 ] ||
    wrong+='; no line names it'
ends "a name that is a loopback address is reported, and the job runs" 0
on 1 umount /etc/hosts

# Hosts without IPv4.
for host in $(seq $hosts); do netns_ipv4 "$host" del; done
GASNET_SSH_SERVERS="fd77:1::1 fd77:2::1 fd77:3::1" job "IPv6" 3 "$(program testam)"
all_rules
ends "testam seq over IPv6 alone" 0
for host in $(seq $hosts); do netns_ipv4 "$host" add; done

# --- keys of hosts (IB-S10): ssh and the user decide which are accepted ---------------

keyed() { # CONFIG OPTIONS...: a job of a user who knows the hosts of known.CONFIG
    local config=$1
    shift
    GASNET_SSH_OPTIONS="-F $tap_scratch/ssh_config.$config $*" job "keys $config" 3 sh -c hostname
}
refused() { # PATTERN: by one line of the launcher's, which matches it
    [ "$(grep -c '^gasnetrun_' "$log")" = 1 ] && grep -qE "^gasnetrun_$conduit: $1\$" "$log" || wrong+='; not in one line'
}
unknown() { # ADDRESS WHERE
    echo "host $1 cannot be reached: its host key is unknown to ssh on $2; compare .*" \
        "ssh-keyscan $1 >>~/.ssh/known_hosts .* ssh .* $1 true .*GASNET_SSH_OPTIONS=.*"
}
for config in none first; do ssh_config $config; done
: >"$tap_scratch/known.none"
known_hosts first 10.77.2.1 host_key
keyed none
refused "$(unknown '10.77.[23].1' 'this host')"
ends "a host whose key is unknown is refused, in one line that says how to accept it (IB-S10)" 1
keyed first
refused "$(unknown '10.77.3.1' 'this host')"
ends "the one that is unknown is named (IB-S10)" 1
GASNET_SSH_OUT_DEGREE=1 keyed first
refused "$(unknown '10.77.3.1' '10.77.2.1')"
ends "so is the host that does not know it, where that one starts it (IB-S10)" 1
keyed none "-o 'StrictHostKeyChecking no' -o 'UserKnownHostsFile /dev/null'"
[ "$(grep -c '^host' "$log")" = 3 ] || wrong+='; not three processes'
ends "GASNET_SSH_OPTIONS accepts any key (IB-S5, S10)" 0
keyed none -oStrictHostKeyChecking=accept-new
[ "$(grep -c '^host' "$log")" = 3 ] && [ "$(wc -l <"$tap_scratch/known.none")" = 2 ] || wrong+='; not accepted'
keyed none -oStrictHostKeyChecking=yes
[ "$(grep -c '^host' "$log")" = 3 ] || wrong+='; not three processes'
ends "or new ones, which are known from then on (IB-S10)" 0
known_hosts first 10.77.2.1,10.77.3.1 other_key
keyed first -oStrictHostKeyChecking=accept-new
refused "host 10.77.[23].1 cannot be reached: its host key is not the one that ssh on this host knows; .*ssh-keygen -R 10.77.[23].1 .*"
ends "a key that has changed is refused, and no word says to accept it (IB-S10)" 1

# --- how jobs end (IB-X7) --------------------------------------------------------------------------

ends_badly() { # LABEL
    { [ "$status" -ne 0 ] && [ "$status" -ne 124 ]; } || wrong+="; status $status"
    ends "$1" "$status"
}

# The family exit has all of them, on one machine.
for case in "all_return_7 7 first" "all_exit_9 9 first" "one_exits_others_poll 11 last" "one_exits_others_sleep 11 first" \
    "handler_on_peer 12 last" "before_attach_one 13 first" "one_calls_underscore_exit - last" "killed_others_poll - first last" \
    "killed_others_sleep - last" "segv - first"; do
    read -r name code whos <<<"$case"
    for who in $whos; do
        job "exit $name $who" 3 "$(program testexit)" "$name" "$who"
        if [ "$code" = - ]; then ends_badly "$name $who between hosts"; else ends "$name $who between hosts" "$code"; fi
    done
done

# Starts a job of processes that compute until they are ended, and waits until all are up.
start_job() { # LABEL
    log=$TEST_LOG/hosts_${1//[^a-z0-9_]/_}.log marker=job.$$.$tap_count wrong=''
    : >"$log"
    TEST_MARKER=$marker nsenter -t "${keeper[1]}" -n -u -m --wd="$PWD" env --default-signal=INT,QUIT \
        timeout -k 5 $bound "$TEST_LAUNCH" -spawner=ssh -n 3 "$(program testexit)" launcher_signal first \
        >"$log" 2>&1 </dev/null &
    launcher=$!
    until grep -q READY "$log"; do
        kill -0 $launcher 2>/dev/null || { wrong='; never came up' && return; }
        sleep 0.02 # between two looks
    done
    read -r launcher_itself _ <"/proc/$launcher/task/$launcher/children" # of timeout
}
end_job() { # waits for it
    start=$(now_ms)
    wait $launcher 2>/dev/null
    status=$? ms=$(($(now_ms) - start))
    no_orphans "$marker" "$1" || wrong+='; processes left behind'
    [ -z "$(left_shm)" ] || wrong+='; files left in /dev/shm'
}

for signal in TERM INT KILL; do
    start_job "signal $signal"
    kill -"$signal" "$launcher_itself"
    end_job 4
    ends "SIG$signal to the launcher of three hosts" $((128 + $(kill -l $signal)))
done

# The control process on a host, or its ssh, is killed or stopped (IB-S7).  With a tree the
# second host starts the third.
control_on() { # HOST: its control process, not the guard, which is a child of it
    local pid
    for pid in $(ip netns pids "$netns_name-$1"); do
        tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q "^$TEST_LAUNCH --spawn-control " || continue
        # shellcheck disable=SC2046 # fields
        set -- "$1" $(sed 's/.*) //' "/proc/$pid/stat")
        tr '\0' ' ' <"/proc/$3/cmdline" | grep -q "^$TEST_LAUNCH --spawn-control " || echo "$pid"
    done
}
ssh_to() { # FROM TO
    local pid
    for pid in $(ip netns pids "$netns_name-$1"); do
        tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q "^ssh .* 10.77.$2.1 exec $TEST_LAUNCH --spawn-control" && echo "$pid"
    done
}
one_line() { # PATTERN: a line of the launcher's, and the only output
    [ "$(grep -Evc '^(#|READY)' "$log")" = 1 ] && grep -qE "^gasnetrun_$conduit: $1\$" "$log" || wrong+='; not in one line'
}
for degree in 0 1; do
    export GASNET_SSH_OUT_DEGREE=$degree
    for victim in 2 3; do
        start_job "control process killed $degree $victim"
        kill -KILL "$(control_on $victim)"
        end_job 2
        one_line "host 10.77.$victim.1: (lost its control process \(connection closed: .*\)|its remote shell .*); ending the job"
        ends "the control process on host $victim is killed (IB-S7, X7), $degree from each" 1
        start_job "ssh killed $degree $victim"
        from=$((degree == 0 || victim == 2 ? 1 : 2))
        kill -KILL "$(ssh_to $from $victim)"
        end_job 2
        one_line "host 10.77.$victim.1: its remote shell \(ssh on .*\) was killed by signal 9; ending the job"
        ends "the ssh to host $victim is killed" 1
    done
    start_job "control process stopped $degree"
    kill -STOP "$(control_on 2)"
    kill -TERM "$launcher_itself"
    end_job 5
    grep -q 'host 10.77.2.1: its control process does not answer (is it stopped?)' "$log" || wrong+='; no line names the host'
    ends "the control process on host 2 is stopped, then the launcher gets SIGTERM" 143
done
unset GASNET_SSH_OUT_DEGREE

# A host whose cable is pulled.
programs_left() { # HOST
    local pid
    for pid in $(ip netns pids "$netns_name-$1"); do
        case $(readlink "/proc/$pid/exe") in "$TEST_BUILD"/*) echo "$pid" ;; esac
    done
}
cut_cable() { # CONDUIT
    start_job "cable $1"
    netns_cable 3 down
    end_job 30
    for ((i = 0; i < 1500; i++)); do # until the host that was cut off has ended its part
        [ -n "$(programs_left 3)" ] || break
        sleep 0.02
    done
    [ -z "$(programs_left 3)" ] || wrong+='; processes left on the host that was cut off'
    netns_cable 3 up
    # Or a rank notices first that its connections are broken, and the job ends already.
    if grep -q 'FATAL ERROR (rank [01] .* a connection broke' "$log"; then
        grep -q 'host 10.77.3.1: its control process does not answer' "$log"
    else
        grep -q 'host 10.77.3.1: lost its control process ([Nn]' "$log"
    fi || wrong+='; no line names the host'
    ends_badly "$1: a cable that is pulled for good ends the job, and the host that is cut off ends its part"
}
cut_cable "$conduit"

# Hosts that cannot be reached.
ip -n "$netns_name-1" route add unreachable 10.77.99.0/24
GASNET_SSH_SERVERS="10.77.1.1 10.77.99.1" job "absent" 2 "$(program testhello)"
[ "$(grep -c 'host 10.77.99.1 cannot be reached' "$log")" = 1 ] || wrong+='; no line names it'
ends "a host that does not exist" 1
sshd=$(cat "$tap_scratch/sshd.2.pid")
kill -STOP "$sshd"
GASNET_SSH_TIMEOUT=1 job "hangs" 3 "$(program testhello)"
one_line "host 10.77.2.1: no word from its control process within 1 s \(GASNET_SSH_TIMEOUT\); check .*"
ends "a host that hangs" 1
kill -CONT "$sshd"
kill "$sshd"
while kill -0 "$sshd" 2>/dev/null; do sleep 0.02; done # between two looks
job "refuses" 3 "$(program testhello)"
[ "$(grep -c 'host 10.77.2.1 cannot be reached' "$log")" = 1 ] || wrong+='; no line names it'
ends "a host that refuses" 1

on 2 /usr/sbin/sshd -f "$tap_scratch/sshd.2" -E "$TEST_LOG/hosts_sshd.2.log"

# --- other conduits ----------------------------------------------------------------------------------

of() { conduit=$1 TEST_LAUNCH=$TEST_BUILD/gasnetrun_$1; } # CONDUIT
bridges() { # add|del: the same first address on all hosts, as with bridges for containers
    local host
    for host in $(seq $hosts); do
        [ "$1" = del ] || netns_ipv4 "$host" del
        ip -n "$netns_name-$host" addr "$1" 172.17.0.1/16 dev "h$host"
        [ "$1" = del ] || netns_ipv4 "$host" add
    done
}
if [ "$conduit" = ibv ] && [ -x gasnetrun_portals ]; then
    of portals
    bridges add
    job "portals testam" 3 "$(program testam par)"
    all_rules
    ends "portals: testam par, a process on each of three hosts whose first address is a bridge's" 0
    bridges del
    TEST_ONLY='large sizes' job "portals testputget" 2 "$(program testputget)"
    all_rules
    ends "portals: testputget seq between two hosts" 0
    job "portals exit" 3 "$(program testexit)" one_exits_others_sleep last
    ends "portals: one_exits_others_sleep last between hosts (PO-X)" 11
    cut_cable portals
    for host in $(seq $hosts); do netns_ipv4 "$host" del; done
    GASNET_SSH_SERVERS="fd77:1::1 fd77:2::1" job "portals IPv6" 2 "$(program testhello)"
    grep -q 'FATAL.*not all hosts of the job have a unique one' "$log" || wrong+='; no line says why'
    ends_badly "portals: IPv6 alone is refused"
    for host in $(seq $hosts); do netns_ipv4 "$host" add; done
    of ibv
fi
if [ "$conduit" = ibv ] && [ -x gasnetrun_vapi ]; then
    of vapi
    TEST_ONLY='large sizes' job "vapi testputget" 2 "$(program testputget)"
    all_rules
    ends "vapi: testputget seq between two hosts" 0
    of ibv
fi

# --- mpirun and srun (IB-S3, IB-S8) ------------------------------------------------------

# Open MPI's mpirun starts its daemons by ssh; it is a PMIx server too.  The library sets SOFTHCA_HOSTS.
unset GASNET_SSH_SERVERS GASNET_SSH_OPTIONS
printf '%s slots=2\n' $servers >"$tap_scratch/hostfile"
openmpi="mpirun.openmpi --hostfile $tap_scratch/hostfile --mca plm_rsh_agent 'ssh -F $tap_scratch/ssh_config.all' \
    --allow-run-as-root --bind-to none --map-by node -np %N %C"
has() { # COMMAND...: all of them are installed
    local name
    for name; do command -v "$name" >/dev/null || return 1; done
}
offers() { [ -f "$TEST_BUILD/other/launch/gasnet-spawner-$1.so" ]; }
foreign_jobs() { # WAY
    patience=5
    job "$1 testhello" 4 "$(program testhello par)"
    all_rules
    ends "$1: testhello par, two processes on the first of three hosts" 0
    job "$1 codes" 3 "$(program testexit)" one_exits_others_poll last
    ends "$1: one_exits_others_poll last between hosts" 11
    job "$1 killed" 3 "$(program testexit)" killed_others_sleep last
    ends_badly "$1: killed_others_sleep last between hosts"
}
over() { # WAY SPAWNER MODULE LAUNCHER TEMPLATE
    spawner=$2
    if ! offers "$3" || ! has "$4"; then
        tap_skip "$1 over hosts" "no module $3, or no $4"
        return
    fi
    export MPIRUN_CMD=$5 PMIRUN_CMD=$5
    foreign_jobs "$1"
}
over "Open MPI" mpi mpi-openmpi mpirun.openmpi "$openmpi"
over "Open MPI's PMIx" pmix pmix mpirun.openmpi "$openmpi"
printf '#!/bin/sh\nexec ssh -F %s "$@"\n' "$tap_scratch/ssh_config.all" >"$tap_scratch/ssh" && chmod +x "$tap_scratch/ssh"
over "MPICH" mpi mpi-mpich mpirun.mpich "mpirun.mpich -launcher-exec $tap_scratch/ssh \
    -hosts ${servers// /,} -np %N %C"

# Slurm, with a controller on the first host and a daemon on each: gasnetrun finds itself in an allocation.
spawner=pmix
export SLURM_CONF=$tap_scratch/slurm.conf
slurm_files() {
    mkdir -p "$tap_scratch/slurm.state" && echo CgroupPlugin=autodetect >"$tap_scratch/cgroup.conf" && cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=host1(10.77.1.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
StateSaveLocation=$tap_scratch/slurm.state
SlurmdSpoolDir=$tap_scratch/slurm.spool.%n
SlurmctldPidFile=$tap_scratch/slurmctld.pid
SlurmdPidFile=$tap_scratch/slurmd.%n.pid
SlurmctldLogFile=$TEST_LOG/hosts_slurmctld.log
SlurmdLogFile=$TEST_LOG/hosts_slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
ReturnToService=2
SlurmdParameters=config_overrides
TmpFS=$own_files
$(for host in $(seq $hosts); do echo "NodeName=host$host NodeAddr=10.77.$host.1 CPUs=1"; done)
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:8
END
}
slurm_daemon() { # HOST COMMAND...
    nsenter -t "${keeper[$1]}" -n -u -m --wd="$PWD" "${@:2}" -D >/dev/null 2>&1 &
    slurm+=($!)
}
slurm_lives() {
    local pid
    for pid in "${slurm[@]}"; do kill -0 "$pid" 2>/dev/null || return 1; done
}
start_slurm() {
    local host until=$((SECONDS + bound))
    rm -f "$TEST_LOG"/hosts_slurm*.log
    slurm_files || return 1
    slurm_daemon 1 slurmctld
    for host in $(seq $hosts); do slurm_daemon "$host" slurmd; done
    until [ "$(on 1 sinfo -h -o %D -t idle 2>/dev/null)" = $hosts ]; do
        slurm_lives && [ $SECONDS -lt $until ] || return 1
        sleep 0.1 # between two looks
    done
}
if ! offers pmix || ! has srun slurmctld slurmd salloc; then
    tap_skip "srun over hosts" "no pmix module, or no Slurm (Debian: slurmctld slurmd slurm-client)"
elif ! start_slurm; then
    tap_skip "srun over hosts" "Slurm does not run here: $(grep -hE 'fatal:|initialization failed' "$TEST_LOG"/hosts_slurm*.log | tail -n 1)"
else
    unset PMIRUN_CMD MPIRUN_CMD
    inside=(salloc -Q "-N$hosts") # the launcher is on the first host, what srun starts is on all
    foreign_jobs "srun"
    input=$tap_scratch/input job "srun input" 3 sh -c 'echo "<$(cat)>"'
    [ "$(grep '^<' "$log" | sort | tr '\n' ' ')" = "<> <> <to rank 0> " ] || wrong+='; not to rank 0 alone'
    ends "srun: standard input reaches rank 0 alone" 0
    job "srun before_attach" 3 "$(program testexit)" before_attach_one last
    ends "srun: before_attach_one last between hosts" 13
    alone=(srun --mpi=pmix -n)
    job "srun alone" 3 "$(program testhello)"
    all_rules
    ends "srun without gasnetrun" 0
fi

tap_end
