#!/bin/sh
# archive.sh - a static library with the names of the shared one.
#
#   archive.sh ARCHIVE INSTALL-DIR OBJECT ...
#
# Called by libtool instead of ar (other/packaging/static.m4 says so), with its AR and RANLIB; Makefile.am exports the rest.  A
# library that is to be installed becomes one object, in which names with hidden visibility are local: what its shared
# object exports is global, and nothing else, so that a client's function may have any other name.  With an empty
# INSTALL-DIR the archive is one of this build alone, with its objects as they are.
set -eu
archive=$1 install_dir=$2
shift 2
rm -f "$archive"
if [ -n "$install_dir" ]; then
    object=${archive%.a}.o
    trap 'rm -f "$object" "$object.all"' EXIT
    link=
    for word in $ARCHIVE_LINK; do
        # The libraries that these options bring belong to the program.
        case $word in --coverage | -fprofile-* | -fsanitize=*) ;; *) link="$link $word" ;; esac
    done
    $link -o "$object.all" "$@"
    $ARCHIVE_OBJCOPY --localize-hidden "$object.all" "$object"
    set -- "$object"
fi
$AR cr "$archive" "$@"
$RANLIB "$archive"
