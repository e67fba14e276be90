dnl static.m4 - static libraries export what the shared ones do, and nothing else (other/packaging/archive.sh); shared
dnl ones find each other in their own folder, and not in the one where they were installed first.
dnl Included once by configure.ac, after LT_INIT, whose variables it changes.

AC_CHECK_TOOL([OBJCOPY], [objcopy], [objcopy])
PARTIAL_LINK="-r -nostdlib"
for word in $LDFLAGS; do
  AS_CASE([$word], [-fuse-ld=*], [PARTIAL_LINK="$PARTIAL_LINK $word"])
done
AC_MSG_CHECKING([whether static libraries can keep names to themselves])
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
int gasnet_inside(void) __attribute__((visibility("hidden")));
int gasnet_inside(void) { return 0; }
int gasnet_outside(void);
int gasnet_outside(void) { return gasnet_inside(); }
]])], [mv "conftest.$ac_objext" "conftest2.$ac_objext"])
# -flinker-output: what gcc must be told to write an object of machine code if it optimises at link time (-flto).
gasnet_keeps=no
for word in "-flinker-output=nolto-rel " ""; do
  AS_IF([ARCHIVE_LINK="$CC $CFLAGS $word$PARTIAL_LINK" ARCHIVE_OBJCOPY=$OBJCOPY AR=$AR RANLIB=$RANLIB $SHELL \
      "$srcdir/other/packaging/archive.sh" conftest2.a /installed "conftest2.$ac_objext" >&AS_MESSAGE_LOG_FD 2>&1],
    [gasnet_libs=$LIBS
     LIBS="./conftest2.a $LIBS"
     AC_LINK_IFELSE([AC_LANG_SOURCE([[
int gasnet_inside(void);
int gasnet_inside(void) { return 1; }
int gasnet_outside(void);
int main(void) { return gasnet_inside() + gasnet_outside(); }
]])], [gasnet_keeps=yes])
     LIBS=$gasnet_libs])
  AS_IF([test $gasnet_keeps = yes], [PARTIAL_LINK="$word$PARTIAL_LINK"; break])
done
rm -f conftest2.*
AC_MSG_RESULT([$gasnet_keeps])
AS_IF([test "$enable_static:$gasnet_keeps" = yes:no],
  [AC_MSG_ERROR([static libraries need $CC -r and $OBJCOPY --localize-hidden, of which one does not work here (see config.log): install binutils, name another objcopy by OBJCOPY=..., or leave static libraries out by --disable-static])])
AC_SUBST([PARTIAL_LINK])
dnl Else the folder of installation would come ahead of $ORIGIN in the RUNPATH of a copied library.
hardcode_into_libs=no
old_archive_cmds="AR='\$AR' RANLIB='\$RANLIB' \$SHELL $srcdir/other/packaging/archive.sh \$oldlib '\$install_libdir'\$oldobjs"
