dnl config.m4 - what configure finds out for include/gasnet_config.h, the configuration that clients include.
dnl Included once by configure.ac, before AC_OUTPUT.  Nothing here may name a network.

# The release, for #if and for build systems that read gasnet_config.h as text; and the build mode.
AC_SUBST([GASNET_VERSION_MAJOR], [$(echo "$PACKAGE_VERSION" | cut -d. -f1)])
AC_SUBST([GASNET_VERSION_MINOR], [$(echo "$PACKAGE_VERSION" | cut -d. -f2)])
AC_SUBST([GASNET_VERSION_PATCH], [$(echo "$PACKAGE_VERSION" | cut -d. -f3)])
AC_SUBST([GASNET_BUILD_MODE], [${DEBUG_DEFINE#-D}])

AC_ARG_ENABLE([strict-prototypes],
  [AS_HELP_STRING([--enable-strict-prototypes], [clients' handler tables hold void * instead of void (*)()])],
  [], [enable_strict_prototypes=no])
AS_IF([test "$enable_strict_prototypes" = yes], [GASNET_STRICT_LINE='#define GASNET_USE_STRICT_PROTOTYPES 1'],
  [GASNET_STRICT_LINE='/* #undef GASNET_USE_STRICT_PROTOTYPES */'])
AC_SUBST([GASNET_STRICT_LINE])

# Symbols that client code tests: each becomes "#define HAVE_X 1" or a comment.
AC_CHECK_HEADERS([pthread.h sys/param.h sys/time.h unistd.h])
AC_CHECK_FUNCS([mmap pthread_setconcurrency])
m4_foreach_w([gasnet_sym], [HAVE_PTHREAD_H HAVE_SYS_PARAM_H HAVE_SYS_TIME_H HAVE_UNISTD_H HAVE_MMAP HAVE_PTHREAD_SETCONCURRENCY], [
AS_IF([grep "^@%:@define gasnet_sym 1" confdefs.h >/dev/null], [gasnet_sym[]_LINE="@%:@define gasnet_sym 1"],
  [gasnet_sym[]_LINE="/* @%:@undef gasnet_sym */"])
AC_SUBST(gasnet_sym[]_LINE)
])

AC_CACHE_CHECK([page size], [gasnet_cv_page_size], [gasnet_cv_page_size=`getconf PAGESIZE 2>/dev/null || echo 4096`])
gasnet_n=$gasnet_cv_page_size
GASNET_PAGESHIFT=0
while test "$gasnet_n" -gt 1; do gasnet_n=`expr $gasnet_n / 2`; GASNET_PAGESHIFT=`expr $GASNET_PAGESHIFT + 1`; done
GASNET_PAGESIZE=$gasnet_cv_page_size
AC_SUBST([GASNET_PAGESIZE])
AC_SUBST([GASNET_PAGESHIFT])

AC_ARG_WITH([max-segsize],
  [AS_HELP_STRING([--with-max-segsize=SIZE], [default of GASNET_MAX_SEGSIZE, e.g. 4GB (default: 2 GB less one page)])],
  [GASNET_MAX_SEGSIZE_TEXT=$withval], [GASNET_MAX_SEGSIZE_TEXT=`expr 2147483648 - $GASNET_PAGESIZE`])
AC_SUBST([GASNET_MAX_SEGSIZE_TEXT])

# Which compiler this is, in the terms of the platform header itself.
AC_MSG_CHECKING([compiler identity])
gasnet_probe=`AS_ECHO(['gasnet_probe:PLATFORM_COMPILER_FAMILYID:PLATFORM_COMPILER_ID:PLATFORM_COMPILER_VERSION:PLATFORM_COMPILER_VERSION_STR:PLATFORM_COMPILER_FAMILYNAME:']) |
  $CC -E -P -I"$srcdir/include" -include gasnet_platform.h - 2>&AS_MESSAGE_LOG_FD | grep '^gasnet_probe' | tr -d ' "'`
GASNET_CC_FAMILYID=`AS_ECHO(["$gasnet_probe"]) | cut -d: -f2`
GASNET_CC_ID=`AS_ECHO(["$gasnet_probe"]) | cut -d: -f3`
GASNET_CC_VERSION=`AS_ECHO(["$gasnet_probe"]) | cut -d: -f4 | sed 's/[[^0-9xa-fA-F+()<|]]//g'`
GASNET_CC_IDSTR=`AS_ECHO(["$gasnet_probe"]) | awk -F: '{ print $6 " " $5 }'`
AS_IF([test "x$GASNET_CC_VERSION" = x], [AC_MSG_ERROR([cannot preprocess include/gasnet_platform.h with '$CC -E'; see config.log])])
AC_MSG_RESULT([$GASNET_CC_IDSTR])
AC_SUBST([GASNET_CC_FAMILYID])
AC_SUBST([GASNET_CC_ID])
AC_SUBST([GASNET_CC_VERSION])
AC_SUBST([GASNET_CC_IDSTR])

# Texts for C string literals: quotes and backslashes escaped.
# Without the prefix: an installed tree may be moved, and no object should depend on where it goes.
GASNET_CONFIGURE_ARGS=`AS_ECHO(["$ac_configure_args"]) | sed "s/ *'--prefix=[[^']]*'//" | sed 's/[[\\"]]/\\\\&/g'`
AC_SUBST([GASNET_CONFIGURE_ARGS])
GASNET_SYSTEM_TUPLE=$host
AC_SUBST([GASNET_SYSTEM_TUPLE])
GASNET_SYSTEM_NAME=`uname -n 2>/dev/null | sed 's/[[\\"]]//g'`
AC_SUBST([GASNET_SYSTEM_NAME])

# Everything is compiled with it, so it is left alone where it comes out as it was.
AC_CONFIG_FILES([include/gasnet_config.stamp:include/gasnet_config.h.in],
  [cmp -s include/gasnet_config.stamp include/gasnet_config.h ||
     cp include/gasnet_config.stamp include/gasnet_config.h])
