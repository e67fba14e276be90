dnl hardening.m4 - what makes an overrun harder to use: each option that the compiler and the linker take.
dnl Included once by configure.ac, after --enable-sanitizer.  The caller's CPPFLAGS, CFLAGS and LDFLAGS follow these options,
dnl so that -U_FORTIFY_SOURCE, -fno-stack-protector or -Wl,-z,lazy takes one back.

# GASNET_TAKES(VARIABLE, OPTION, TO): adds OPTION to TO if a program links with it in VARIABLE, without a warning.
AC_DEFUN([GASNET_TAKES], [
gasnet_saved_flags=$$1
$1="$2 $$1 -Werror"
AC_MSG_CHECKING([for $2])
AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
  [$1=$gasnet_saved_flags
   $3="$$3 $2"
   AC_MSG_RESULT([yes])],
  [$1=$gasnet_saved_flags
   AC_MSG_RESULT([no])])
])
# HOT_CFLAGS follow HARD_CFLAGS in libraries whose instructions make bench counts: -fstack-protector replaces the strong form,
# so that functions with arrays of bytes are protected, and those that only pass the address of a work request are not (six instructions).
HARD_CFLAGS= HOT_CFLAGS=
GASNET_TAKES([CFLAGS], [-fstack-protector-strong], [HARD_CFLAGS])
GASNET_TAKES([CFLAGS], [-fstack-clash-protection], [HARD_CFLAGS])
GASNET_TAKES([CFLAGS], [-fstack-protector], [HOT_CFLAGS])
AC_SUBST([HARD_CFLAGS])
AC_SUBST([HOT_CFLAGS])
HARD_LDFLAGS=
GASNET_TAKES([LDFLAGS], [-Wl,-z,relro], [HARD_LDFLAGS])
GASNET_TAKES([LDFLAGS], [-Wl,-z,now], [HARD_LDFLAGS])
GASNET_TAKES([LDFLAGS], [-Wl,-z,noexecstack], [HARD_LDFLAGS])
LDFLAGS="$HARD_LDFLAGS $LDFLAGS"

# The C library's checks need an optimiser, hide errors from sanitizers, and may be wanted already by the caller or by
# the compiler.
AC_MSG_CHECKING([for -D_FORTIFY_SOURCE=2])
HARD_CPPFLAGS=
AS_IF([test "$enable_sanitizer" = no],
  [AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#if !defined __OPTIMIZE__ || defined _FORTIFY_SOURCE
#error "not to be defined"
#endif
]])], [HARD_CPPFLAGS=-D_FORTIFY_SOURCE=2])])
AC_MSG_RESULT([${HARD_CPPFLAGS:-left as it is}])
AC_SUBST([HARD_CPPFLAGS])
