#!/bin/sh
# deb.sh TARBALL FOLDER [TREE] - Debian packages of a release (make deb), in FOLDER, which it makes.
#
# TREE: a build tree of these sources, which is packaged as it is; otherwise they are configured and compiled.
set -eu
tarball=$(realpath "$1")
name=${tarball##*/} name=${name%.tar.xz}
mkdir -p "$2"
cd "$2"
cp "$tarball" "gasnet_${name#gasnet-}.orig.tar.xz"
tar xf "$tarball"
cp -R "$name/other/packaging/debian" "$name/debian"
cd "$name"
if [ $# -gt 2 ]; then
    GASNET_TREE=$3 dpkg-buildpackage -b -us -uc -d
else
    dpkg-buildpackage -b -us -uc
fi
