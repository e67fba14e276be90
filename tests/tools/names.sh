#!/bin/bash
# names.sh - every public name that clients are promised must be a macro, a declaration or a type.
#
# Sourced by run.sh like headers.sh.  The lists are those of the interface; vector transfers and
# collectives have headers and lists of their own.
# shellcheck shell=bash
: "${include:?to be sourced by run.sh}" "${tap_scratch:?}"

calls="gasnet_init gasnet_attach gasnet_exit gasnet_getMaxLocalSegmentSize gasnet_getMaxGlobalSegmentSize
 gasnet_mynode gasnet_nodes gasnet_getSegmentInfo gasnet_getNodeInfo gasnet_getenv
 $(echo gasnet_AMMax{Args,Medium,LongRequest,LongReply})
 $(echo gasnet_AMRequest{Short,Medium,Long,LongAsync}{,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16})
 $(echo gasnet_AMReply{Short,Medium,Long}{,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16})
 gasnet_AMPoll gasnet_AMGetMsgSource GASNET_BLOCKUNTIL gasnet_hold_interrupts gasnet_resume_interrupts
 $(echo gasnet_hsl_{init,destroy,lock,trylock,unlock})
 $(echo gasnet_{get,put}{,_nb,_nbi}{,_bulk} gasnet_memset{,_nb,_nbi})
 $(echo gasnet_{wait,try}_syncnb{,_all,_some} gasnet_try_syncnb{,_some,_all}_nopoll)
 $(echo gasnet_{wait,try}_syncnbi_{gets,puts,all} gasnet_{begin,end}_nbi_accessregion)
 $(echo gasnet_put{,_nb,_nbi}_val gasnet_get{,_nb}_val) gasnet_wait_syncnb_valget
 $(echo gasnet_barrier{,_notify,_wait,_try,_result})
 GASNET_GET_THREADINFO GASNET_POST_THREADINFO GASNET_BEGIN_FUNCTION gasnet_set_waitmode
 gasnet_ErrorName gasnet_ErrorDesc gasnet_client_attach_hook gasnet_max_segsize gasnet_frozen"
values="$(echo GASNET_WAIT_{SPIN,BLOCK,SPINBLOCK}) GASNET_OK
 $(echo GASNET_ERR_{NOT_INIT,RESOURCE,BAD_ARG,NOT_READY,BARRIER_MISMATCH})
 $(echo GASNET_BARRIERFLAG_{ANONYMOUS,MISMATCH,UNNAMED,IMAGES})
 GASNET_INVALID_HANDLE SIZEOF_GASNET_REGISTER_VALUE_T $(echo GASNET_SPEC_VERSION_{MAJOR,MINOR})
 GASNET_VERSION $(echo GASNET_RELEASE_VERSION_{MAJOR,MINOR,PATCH}) GASNET_CONFIG_STRING
 GASNET_SEQ GASNET_MAXNODES GASNET_ALIGNED_SEGMENTS GASNET_PAGESIZE GASNET_PSHM GASNET_NULL_ARGV_OK
 GASNET_NDEBUG GASNET_CONDUIT_NAME_STR GASNET_CORE_NAME_STR GASNET_CORE_VERSION_STR
 GASNET_EXTENDED_NAME_STR GASNET_EXTENDED_VERSION_STR GASNET_CORE_VERSION GASNET_EXTENDED_VERSION
 GASNETT_TICK_MIN GASNETT_TICK_MAX GASNETT_MAX_THREADS
 $(echo GASNETT_ATOMIC_{NONE,RMB_PRE,WMB_PRE,MB_PRE,RMB_POST,WMB_POST,MB_POST,RMB_POST_IF_TRUE})
 $(echo GASNETT_ATOMIC_{RMB_POST_IF_FALSE,REL,ACQ,ACQ_IF_TRUE,ACQ_IF_FALSE,MAX,SIGNED_MIN,SIGNED_MAX})
 $(echo GASNETT_HAVE_{,STRONG}ATOMIC_{CAS,ADD_SUB}) $(echo GASNETT_STRONGATOMIC{,32,64}_NOT_SIGNALSAFE)
 $(echo GASNETT_PLATFORM_COMPILER_{IDSTR,FAMILYID,ID,VERSION}) GASNETT_CONFIGURE_MISMATCH
 $(echo GASNETT_SPEC_VERSION_{MAJOR,MINOR} GASNETT_RELEASE_VERSION_{MAJOR,MINOR,PATCH})
 GASNETT_PAGESIZE GASNETT_PAGESHIFT GASNETT_CACHE_LINE_BYTES GASNETT_SYSTEM_TUPLE
 GASNETT_CONFIGURE_ARGS GASNETT_CONFIG_STRING GASNETT_TRACE_ENABLED
 PLATFORM_COMPILER_FAMILYID PLATFORM_COMPILER_ID PLATFORM_COMPILER_VERSION PLATFORM_COMPILER_IDSTR
 GASNETI_MAX_THREADS PLATFORM_COMPILER_VERSION_STR PATH_MAX STDIN_FILENO STDOUT_FILENO STDERR_FILENO
 SIZEOF_INT SIZEOF_LONG SIZEOF_VOID_P HAVE_PTHREAD_H HAVE_MMAP"
macros="GASNET_CONDUIT_NAME GASNET_CORE_NAME GASNET_EXTENDED_NAME GASNET_HSL_INITIALIZER _STRINGIFY _CONCAT
 MIN MAX if_pf if_pt $(echo GASNETT_{MUTEX,COND,RWLOCK}_INITIALIZER GASNETT_THREADKEY_{DECLARE,DEFINE})
 $(echo gasnett_threadkey_{get,set,init,get_noinit,set_noinit}) gasnett_current_loc
 $(echo gasnett_{,strong}atomic{,32,64}_init) gasnett_atomic_signed gasnett_constant_p
 $(echo GASNETT_{PUREP,CONSTP,MALLOCP,NORETURNP,PURE,CONST,MALLOC,NORETURN,USED,UNUSED,HOT,COLD,DEPRECATED})
 $(echo GASNETT_{WARN_UNUSED_RESULT,FORMAT_PRINTF,FORMAT_PRINTF_FUNCPTR,INLINE,ALWAYS_INLINE,PLEASE_INLINE})
 $(echo GASNETT_{NEVER_INLINE,RESTRICT,IDENT,BEGIN_EXTERNC,END_EXTERNC,EXTERNC,TENTATIVE_EXTERN})
 GASNETT_PREDICT_TRUE GASNETT_PREDICT_FALSE GASNETT_CURRENT_FUNCTION
 $(echo GASNETT_{DEBUG_CONFIG,PTR_CONFIG,THREAD_MODEL,TIMER_CONFIG,MEMBAR_CONFIG,ATOMIC_CONFIG})
 GASNETT_ATOMIC32_CONFIG GASNETT_ATOMIC64_CONFIG
 $(echo GASNETT_TRACE_{PRINTF,PRINTF_FORCE,SETSOURCELINE,GETSOURCELINE,FREEZESOURCELINE})
 $(echo GASNETT_TRACE_{UNFREEZESOURCELINE,GETMASK,SETMASK,GET_TRACELOCAL,SET_TRACELOCAL})
 $(echo GASNETT_STATS_{INIT,GETMASK,SETMASK}) $(echo GASNETT_FAST_{ALIGNED,UNALIGNED}_MEMCPY)
 GASNETT_VALUE_ASSIGN GASNETT_VALUE_RETURN _INCLUDED_GASNET_H _INCLUDED_GASNET_TOOLS_H
 $(echo PLATFORM_COMPILER_VERSION_{GT,GE,EQ,LE,LT,INT}) PLATFORM_COMPILER_FAMILYNAME
 PLATFORM_OS_FAMILYNAME PLATFORM_ARCH_FAMILYNAME GASNETE_THREAD_GET
 PACK UNPACK UNPACK2 $(echo {SHORT,MEDIUM,LONG}_HANDLER{,_DECL,_NOBITS_DECL} {SHORT,MEDIUM,LONG}_RE{Q,P})
 LONGASYNC_REQ ARGS0 ARGS16 ARGNAMES0 ARGNAMES16 gasneti_handleridx
 $(echo gasneti_handler_tableentry_{no,with}_bits) GASNETI_HANDLER_SCOPE"
types="$(echo gasnet_{node,handler,token,handlerarg,handlerentry,seginfo,nodeinfo,hsl,threadinfo,handle}_t)
 gasnet_valget_handle_t gasnet_register_value_t gasnett_tick_t gasnett_sighandlerfn_t
 gasnett_backtrace_type_t gasnett_heapstats_t $(echo gasnett_{mutex,cond,rwlock}_t)
 $(echo gasnett_{,strong}atomic{,32,64}_t gasnett_atomic_{val,sval}_t)"
tools="$(echo gasnett_{ticks_{now,to_us,to_ns},tick_{granularityus,overheadus},gettimeofday_us})
 $(echo gasnett_{local,weak}_{wmb,rmb,mb}) gasnett_compiler_fence
 $(echo gasnett_{,strong}atomic{,32,64}_{set,read,increment,decrement,decrement_and_test})
 $(echo gasnett_{,strong}atomic{,32,64}_{compare_and_swap,swap,add,subtract})
 $(echo gasnett_mutex_{init,destroy,destroy_ignoreerr,lock,trylock,unlock,assertlocked,assertunlocked})
 $(echo gasnett_cond_{init,destroy,wait,signal,broadcast})
 $(echo gasnett_rwlock_{init,destroy,rdlock,wrlock,tryrdlock,trywrlock,unlock,assertlocked})
 $(echo gasnett_rwlock_{assertrdlocked,assertwrlocked,assertunlocked})
 $(echo gasnett_getenv{,_withdefault,_yesno_withdefault,_int_withdefault,_dbl_withdefault})
 $(echo gasnett_{setenv,unsetenv,verboseenv,envint_display,envstr_display,envdbl_display,parse_int})
 $(echo gasnett_{format_number,sched_yield,cpu_count,flush_streams,close_streams,getPhysMemSz})
 $(echo gasnett_{fatalerror,killmyprocess,reghandler,checksum,isLittleEndian,set_affinity,gethostname})
 $(echo gasnett_{spinloop_hint,freezeForDebuggerNow,freezeForDebuggerErr,backtrace_init,print_backtrace})
 $(echo gasnett_{print_backtrace_ifenabled,signame_fromval,performance_warning_str,maximize_rlimits})
 $(echo gasnett_maximize_rlimit gasnett_count0s{,_copy,_uint32_t,_uint64_t,_uintptr_t})
 gasnett_backtrace_user gasnett_mmap gasnett_malloc_aligned gasnett_free_aligned
 gasnett_run_diagnostics gasnett_diagnostic_gethandlers gasnete_threadinfo_cache
 _gasneti_threadkey_init _gasnett_trace_printf_noop gasneti_gethostname gasnett_unreachable
 $(echo gasnett_debug_{malloc,realloc,calloc,free,strdup,strndup,memcheck,memcheck_one,memcheck_all})
 gasnett_getheapstats"

# A name in an expression is a declaration or an object-like macro; function-like macros are asked
# for by #ifdef.  One program per name would take minutes: one program, and errors name the rest.
{
    echo '#include "gasnet_handler.h"'
    echo '#include "gasnet_tools.h"'
    echo 'void probe(void); void probe(void) {'
    for name in $calls $tools; do printf '#ifndef %s\n(void)%s;\n#endif\n' "$name" "$name"; done
    for name in $values; do printf '(void)(%s);\n' "$name"; done
    for name in $types; do printf '(void)sizeof(%s);\n' "$name"; done
    echo '}'
    for name in $macros; do printf '#ifndef %s\n#error "missing %s"\n#endif\n' "$name" "$name"; done
} >"$tap_scratch/names.c"
# shellcheck disable=SC2086
gcc -std=gnu17 -fmax-errors=0 -DGASNET_SEQ -DGASNET_NDEBUG $include -fsyntax-only "$tap_scratch/names.c" \
    >"$tap_scratch/names.log" 2>&1
status=$?
# shellcheck disable=SC2086
tap_ok $status "all $(echo $calls $values $macros $types $tools | wc -w) public names are there"
[ $status -eq 0 ] || tap_note "$(grep error "$tap_scratch/names.log" | head -n 20)"

# Declared functions must be in the library: a table of their addresses is linked.
{
    echo '#include "gasnet_handler.h"'
    echo '#include "gasnet_tools.h"'
    for name in $calls $tools; do
        printf '#ifndef %s\nextern const void *const at_%s; const void *const at_%s = (const void *)&%s;\n#endif\n' \
            "$name" "$name" "$name" "$name"
    done
    echo 'int main(void) { return 0; }'
} >"$tap_scratch/addresses.c"
# shellcheck disable=SC2086
gcc -std=gnu17 -DGASNET_SEQ -DGASNET_NDEBUG $include -o "$tap_scratch/addresses" "$tap_scratch/addresses.c" \
    -L"$TEST_BUILD/.libs" -lgasnet-ibv-seq -lsofthca -libverbs -lpthread >"$tap_scratch/names.log" 2>&1
status=$?
tap_ok $status "and those that are declared are in the library"
[ $status -eq 0 ] || tap_note "$(grep -E 'error|undefined' "$tap_scratch/names.log" | head -n 20)"

# And nothing that is not: macros outside the house's prefixes.
# shellcheck disable=SC2086
strange=$(comm -13 \
    <(printf '#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n#include <errno.h>\n#include <limits.h>\n#include <unistd.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n' |
        gcc -std=gnu17 -dM -E -x c - | awk '{ print $2 }' | sed 's/(.*//' | sort) \
    <(echo '#include "gasnet.h"' | gcc -std=gnu17 -DGASNET_PAR -DGASNET_NDEBUG $include -dM -E -x c - |
        awk '{ print $2 }' | sed 's/(.*//' | sort) |
    grep -vE '^(GASNET|gasnet|_?GEX_|gex_|PLATFORM_|SIZEOF_|HAVE_|_INCLUDED_GASNET)' |
    grep -vxE '_STRINGIFY|_CONCAT|MIN|MAX|if_pf|if_pt|PATH_MAX|PRIuSZ')
tap_ok "$([ -z "$strange" ]; echo $?)" "gasnet.h defines no other macros${strange:+: $strange}"
