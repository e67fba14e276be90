dnl old_options.m4 - options of configure that older documents of the conduits name (IB-B7).
dnl Included once by configure.ac, before the options that replaced them.  An option is taken for its
dnl successor, with a warning, or refused with the remedy; autoconf alone would go on without it.

# GASNET_OLD_NAME(with|enable, OLD, NEW): where both are given, NEW decides.
AC_DEFUN([GASNET_OLD_NAME], [
m4_pushdef([OLD_VARIABLE], [$1_]m4_translit([$2], [-], [_]))
m4_pushdef([NEW_VARIABLE], [$1_]m4_translit([$3], [-], [_]))
m4_if([$1], [with], [AC_ARG_WITH], [AC_ARG_ENABLE])([$2], [AS_HELP_STRING([--$1-$2], [old name of --$1-$3])],
  [AC_MSG_WARN([--$1-$2 is the old name of --$1-$3])
   : ${NEW_VARIABLE[]=$[]OLD_VARIABLE}])
m4_popdef([OLD_VARIABLE])m4_popdef([NEW_VARIABLE])
])

m4_foreach_w([old_conduit], [ibv vapi], [
GASNET_OLD_NAME([with], old_conduit[-bootstrap], old_conduit[-spawner])
GASNET_OLD_NAME([enable], old_conduit[-force-poll-lock], old_conduit[-poll-lock])
AC_ARG_ENABLE(old_conduit[-inline-puts],
  [AS_HELP_STRING([--disable-]old_conduit[-inline-puts], [refused: GASNET_INLINESEND_LIMIT=0 at run time does it])],
  [AS_IF([test "$enableval" = no],
    [AC_MSG_ERROR([--disable-]old_conduit[-inline-puts is no option of the build any more: set GASNET_INLINESEND_LIMIT=0 when the program runs])])])
])
GASNET_OLD_NAME([with], [segment-mmap-max], [max-segsize])

m4_foreach_w([old_part], [include lib], [
AC_ARG_WITH([pthreads-]old_part, [AS_HELP_STRING([--with-pthreads-]old_part, [refused: CPPFLAGS and LDFLAGS do it])],
  [AC_MSG_ERROR([--with-pthreads-]old_part[ is not known: give ]m4_if(old_part, [lib], [LDFLAGS=-L], [CPPFLAGS=-I])[$withval])])
])
AC_ARG_WITH([pthreads-patch], [AS_HELP_STRING([--with-pthreads-patch], [refused: no header of the system is patched])],
  [AC_MSG_ERROR([--with-pthreads-patch: no header of the system is patched, since none has to be; leave it out])])

# A name of ours that is mistyped; others may be meant for another package of a larger build.
AS_CASE([$ac_unrecognized_opts],
  [*ibv*|*vapi*|*portals*|*segment*|*segsize*|*spawner*],
  [AC_MSG_ERROR([unknown options: $ac_unrecognized_opts (configure --help lists the known ones)])])
