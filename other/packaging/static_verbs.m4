dnl static_verbs.m4 - what a program needs behind libibverbs.a if it is linked with -static: libnl, of which libibverbs.so
dnl itself tells the dynamic linker.  Included once by configure.ac.

AC_MSG_CHECKING([what libibverbs.a needs])
gasnet_libs=$LIBS gasnet_ldflags=$LDFLAGS
VERBS_STATIC_LIBS= gasnet_static=no
LDFLAGS="$LDFLAGS -static"
for word in "" "-lnl-route-3 -lnl-3"; do
  LIBS="-libverbs $word -lpthread -ldl"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <infiniband/verbs.h>]], [[return ibv_get_device_list(0) != 0;]])],
    [gasnet_static=yes
     AS_IF([test "$word"], [VERBS_STATIC_LIBS="-Wl,--push-state,--as-needed $word -Wl,--pop-state"])
     break])
done
LIBS=$gasnet_libs LDFLAGS=$gasnet_ldflags
AS_IF([test $gasnet_static = yes], [AC_MSG_RESULT([${VERBS_STATIC_LIBS:-nothing}])], [AC_MSG_RESULT([it is not here])])
AC_SUBST([VERBS_STATIC_LIBS])
