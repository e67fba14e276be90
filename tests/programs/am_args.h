/* am_args.h - the one table of macros from which tests make AM code for every argument count.
 *
 * AM_EACH(X) expands X(0) .. X(16); AM_DECLn declares n parameters a1..an after a first one,
 * AM_LISTn names them, AM_PASSn passes v[0]..v[n-1].  For tests alone.
 */
#ifndef AM_ARGS_H
#define AM_ARGS_H

#define AM_MAX 16
#define AM_EACH(X)                                                                                 \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

#define AM_DECL0
#define AM_DECL1  AM_DECL0, gasnet_handlerarg_t a1
#define AM_DECL2  AM_DECL1, gasnet_handlerarg_t a2
#define AM_DECL3  AM_DECL2, gasnet_handlerarg_t a3
#define AM_DECL4  AM_DECL3, gasnet_handlerarg_t a4
#define AM_DECL5  AM_DECL4, gasnet_handlerarg_t a5
#define AM_DECL6  AM_DECL5, gasnet_handlerarg_t a6
#define AM_DECL7  AM_DECL6, gasnet_handlerarg_t a7
#define AM_DECL8  AM_DECL7, gasnet_handlerarg_t a8
#define AM_DECL9  AM_DECL8, gasnet_handlerarg_t a9
#define AM_DECL10 AM_DECL9, gasnet_handlerarg_t a10
#define AM_DECL11 AM_DECL10, gasnet_handlerarg_t a11
#define AM_DECL12 AM_DECL11, gasnet_handlerarg_t a12
#define AM_DECL13 AM_DECL12, gasnet_handlerarg_t a13
#define AM_DECL14 AM_DECL13, gasnet_handlerarg_t a14
#define AM_DECL15 AM_DECL14, gasnet_handlerarg_t a15
#define AM_DECL16 AM_DECL15, gasnet_handlerarg_t a16

#define AM_LIST0
#define AM_LIST1  AM_LIST0, a1
#define AM_LIST2  AM_LIST1, a2
#define AM_LIST3  AM_LIST2, a3
#define AM_LIST4  AM_LIST3, a4
#define AM_LIST5  AM_LIST4, a5
#define AM_LIST6  AM_LIST5, a6
#define AM_LIST7  AM_LIST6, a7
#define AM_LIST8  AM_LIST7, a8
#define AM_LIST9  AM_LIST8, a9
#define AM_LIST10 AM_LIST9, a10
#define AM_LIST11 AM_LIST10, a11
#define AM_LIST12 AM_LIST11, a12
#define AM_LIST13 AM_LIST12, a13
#define AM_LIST14 AM_LIST13, a14
#define AM_LIST15 AM_LIST14, a15
#define AM_LIST16 AM_LIST15, a16

#define AM_PASS0
#define AM_PASS1  AM_PASS0, v[0]
#define AM_PASS2  AM_PASS1, v[1]
#define AM_PASS3  AM_PASS2, v[2]
#define AM_PASS4  AM_PASS3, v[3]
#define AM_PASS5  AM_PASS4, v[4]
#define AM_PASS6  AM_PASS5, v[5]
#define AM_PASS7  AM_PASS6, v[6]
#define AM_PASS8  AM_PASS7, v[7]
#define AM_PASS9  AM_PASS8, v[8]
#define AM_PASS10 AM_PASS9, v[9]
#define AM_PASS11 AM_PASS10, v[10]
#define AM_PASS12 AM_PASS11, v[11]
#define AM_PASS13 AM_PASS12, v[12]
#define AM_PASS14 AM_PASS13, v[13]
#define AM_PASS15 AM_PASS14, v[14]
#define AM_PASS16 AM_PASS15, v[15]

#endif
