#!/bin/sh
# Writes core/am/am_dispatch.h: the 17-way calls of a handler with exactly the arguments it was sent.
# Usage: core/am/gen_dispatch.sh > core/am/am_dispatch.h
arguments() { # of a call with $1 arguments
    i=0
    while [ $i -lt "$1" ]; do
        printf ', a[%d]' $i
        i=$((i + 1))
    done
}
types() {
    i=0
    while [ $i -lt "$1" ]; do
        printf ', int32_t'
        i=$((i + 1))
    done
}
dispatch() { # name, leading parameters, leading types, leading arguments
    echo
    echo "static inline void $1(gasnetc_handler_fn f, void *token$2, unsigned n, const int32_t *a)"
    echo "{"
    echo "    switch (n) {"
    m=0
    while [ $m -le 16 ]; do
        echo "    case $m:"
        echo "        ((void (*)(void *$3$(types $m)))f)(token$4$(arguments $m));"
        echo "        break;"
        m=$((m + 1))
    done
    echo "    }"
    echo "}"
}
cat <<'H'
/* am_dispatch.h - runs a handler with exactly the arguments it was sent.
 * Made by core/am/gen_dispatch.sh; do not edit. */
#ifndef GASNETC_AM_DISPATCH_H
#define GASNETC_AM_DISPATCH_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
typedef void (*gasnetc_handler_fn)(void);
H
dispatch gasnetc_run_short "" "" ""
dispatch gasnetc_run_payload ", void *buf, size_t nbytes" ", void *, size_t" ", buf, nbytes"
echo "/* clang-format on */"
echo
echo "#endif"
