dnl conduits.m4 - the conduits to build, the segment mode, and the options of configure that each conduit has.
dnl Included once by configure.ac, after the spawners.  doc/porting.md has what a
dnl new conduit needs here, in core/conduits.sh and in its folder.

# GASNET_CONDUIT(NAME): --disable-NAME, --disable-NAME-rcv-thread (IB-B3).
AC_DEFUN([GASNET_CONDUIT], [
m4_pushdef([CONDUIT], m4_toupper([$1]))
AC_ARG_ENABLE([$1],
  [AS_HELP_STRING([--disable-$1], [leave out $1-conduit])],
  [], [enable_$1=$enable_gasnet])
AS_IF([test "$enable_gasnet" = no], [enable_$1=no])
AM_CONDITIONAL([CONDUIT_]CONDUIT, [test "$enable_$1" = yes])
AS_IF([test "$enable_$1" = yes], [CONDUITS="$CONDUITS $1"])

AC_ARG_ENABLE([$1-rcv-thread],
  [AS_HELP_STRING([--disable-$1-rcv-thread], [leave out the thread that GASNET_RCV_THREAD starts])],
  [], [enable_$1_rcv_thread=yes])
AM_CONDITIONAL(CONDUIT[_RCV_THREAD], [test "$enable_$1_rcv_thread" != no])
AC_SUBST(CONDUIT[_RCV_THREAD], [$(test "$enable_$1_rcv_thread" != no && echo 1 || echo 0)])
m4_popdef([CONDUIT])
])

# GASNET_SPAWNER(NAME): --with-NAME-spawner (IB-B2), of conduits with a network.
AC_DEFUN([GASNET_SPAWNER], [
m4_pushdef([CONDUIT], m4_toupper([$1]))
AC_ARG_WITH([$1-spawner],
  [AS_HELP_STRING([--with-$1-spawner=ssh|mpi|pmix], [spawner gasnetrun_$1 uses by default (default: ssh, which needs no set-up on one machine)])],
  [CONDUIT[]_SPAWNER=$withval], [CONDUIT[]_SPAWNER=ssh])
AS_CASE([$CONDUIT[]_SPAWNER:$SPAWNER_MPIS:$have_pmix],
  [mpi::*], [AC_MSG_ERROR([--with-$1-spawner=mpi needs an MPI compiler; none found (see --with-mpi-cc)])],
  [pmix:*:no], [AC_MSG_ERROR([--with-$1-spawner=pmix needs PMIx; none found (see --with-pmix)])],
  [ssh:*|mpi:*|pmix:*], [],
  [AC_MSG_ERROR([--with-$1-spawner=$]CONDUIT[_SPAWNER: must be ssh, mpi or pmix])])
AC_SUBST(CONDUIT[_SPAWNER])
m4_popdef([CONDUIT])
])

# GASNET_IB_OPTIONS(NAME): options of the InfiniBand conduits alone: the devices that one process may use
# at once (IB-B5), and the mutex around polling (IB-B4).
AC_DEFUN([GASNET_IB_OPTIONS], [
m4_pushdef([CONDUIT], m4_toupper([$1]))
AC_ARG_WITH([$1-max-hcas],
  [AS_HELP_STRING([--with-$1-max-hcas=N], [devices that a process may use at once, 1 to 16 (default: 2)])],
  [CONDUIT[]_HCAS=$withval], [CONDUIT[]_HCAS=2])
AS_CASE([$CONDUIT[]_HCAS], [[[1-9]|1[0-6]]], [],
  [AC_MSG_ERROR([--with-$1-max-hcas=$]CONDUIT[_HCAS: must be a number from 1 to 16])])
AC_ARG_ENABLE([$1-multirail],
  [AS_HELP_STRING([--disable-$1-multirail], [one port per process, known to the compiler])],
  [AS_IF([test "$enableval" = no], [CONDUIT[]_HCAS=1])])
AC_SUBST(CONDUIT[_HCAS])

AC_ARG_ENABLE([$1-poll-lock],
  [AS_HELP_STRING([--enable-$1-poll-lock], [no two threads poll completion queues at once, for InfiniHost firmware below 3.0])],
  [], [enable_$1_poll_lock=no])
AC_SUBST(CONDUIT[_POLL_LOCK], [$(test "$enable_$1_poll_lock" = yes && echo 1 || echo 0)])
m4_popdef([CONDUIT])
])

# IB-C10: locks in the libraries that have one client thread.  For all conduits: clients see it too.
AC_ARG_ENABLE([seq-rcv-thread],
  [AS_HELP_STRING([--enable-seq-rcv-thread], [GASNET_RCV_THREAD works in SEQ and PARSYNC libraries too, which then have the locks of PAR])],
  [], [enable_seq_rcv_thread=no])
AC_SUBST([SEQ_RCV_THREAD], [$(test "$enable_seq_rcv_thread" = yes && echo 1 || echo 0)])

# Segment mode of the library: at most one of these may be given; fast is the default.
AC_DEFUN([GASNET_SEGMENT], [
AC_ARG_ENABLE([segment-$1], [AS_HELP_STRING([--enable-segment-$1], [build for GASNET_SEGMENT_$2$3])],
  [AS_IF([test "$enableval" = yes], [gasnet_segments="$gasnet_segments $2"])])
])
GASNET_SEGMENT([fast], [FAST], [ (default)])
GASNET_SEGMENT([large], [LARGE], [: a segment that is registered where and when it is used])
GASNET_SEGMENT([everything], [EVERYTHING], [: peers reach all of the memory of a process])
AS_CASE([$gasnet_segments],
  [''], [GASNET_SEGMENT_MODE=FAST],
  [' '*' '*], [AC_MSG_ERROR([more than one --enable-segment-*: choose one of$gasnet_segments])],
  [GASNET_SEGMENT_MODE=`AS_ECHO(["$gasnet_segments"]) | tr -d ' '`])
AC_SUBST([GASNET_SEGMENT_MODE])
AM_CONDITIONAL([SEGMENT_FAST], [test "$GASNET_SEGMENT_MODE" = FAST])

# Shared memory within a host.  In the other segment modes there is no memory that attach could share.
AC_ARG_ENABLE([pshm],
  [AS_HELP_STRING([--disable-pshm], [processes of one host do not map each other's segments (always so without GASNET_SEGMENT_FAST)])],
  [], [enable_pshm=unsaid])
AS_CASE([$enable_pshm:$GASNET_SEGMENT_MODE],
  [no:*], [],
  [*:FAST], [enable_pshm=yes],
  [yes:*], [AC_MSG_ERROR([--enable-pshm needs GASNET_SEGMENT_FAST; leave it or --enable-segment-* out])],
  [enable_pshm=no])
AC_SUBST([PSHM], [$(test "$enable_pshm" = yes && echo 1 || echo 0)])

CONDUITS=
GASNET_CONDUIT([ibv])
GASNET_SPAWNER([ibv])
GASNET_IB_OPTIONS([ibv])
GASNET_CONDUIT([vapi])
GASNET_SPAWNER([vapi])
GASNET_IB_OPTIONS([vapi])
# A match entry of Portals offers memory that stays the same; pinning at peers is of InfiniBand.
AS_IF([test "$GASNET_SEGMENT_MODE" != FAST],
  [AS_CASE([${enable_portals-unsaid}],
    [no], [],
    [unsaid], [AC_MSG_NOTICE([portals-conduit is left out: it has GASNET_SEGMENT_FAST only])
      enable_portals=no],
    [AC_MSG_ERROR([--enable-portals: portals-conduit has GASNET_SEGMENT_FAST only; leave --enable-segment-* out])])])
GASNET_CONDUIT([portals])
GASNET_SPAWNER([portals])
AC_ARG_WITH([portals-chunk-size],
  [AS_HELP_STRING([--with-portals-chunk-size=BYTES], [bytes of the chunks that Active Messages travel in: 1024 or 2048 (default: 2048)])],
  [PORTALS_CHUNK=$withval], [PORTALS_CHUNK=2048])
AS_CASE([$PORTALS_CHUNK], [1024|2048], [],
  [AC_MSG_ERROR([--with-portals-chunk-size=$PORTALS_CHUNK: must be 1024 or 2048])])
AC_SUBST([PORTALS_CHUNK])
# No network: gasnetrun_smp starts the processes, or the program itself.
GASNET_CONDUIT([smp])
AC_SUBST([SMP_SPAWNER], [ssh])
AS_IF([test "$enable_gasnet:$CONDUITS" = yes:], [AC_MSG_ERROR([every conduit is disabled; leave one of them, or --disable-gasnet])])
AC_SUBST([CONDUITS])
# The conduit that the examples are linked with.
AC_SUBST([FIRST_CONDUIT], [$(set -- $CONDUITS; echo "$[1]")])
