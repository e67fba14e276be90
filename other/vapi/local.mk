# other/vapi: Mellanox's VAPI interface over libibverbs.
lib_LTLIBRARIES += libvapi.la
vapi_headers = other/vapi/include/evapi.h other/vapi/include/ib_defs.h other/vapi/include/mosal.h \
	other/vapi/include/mpga.h other/vapi/include/mtl_common.h other/vapi/include/mtl_types.h \
	other/vapi/include/vapi.h other/vapi/include/vapi_common.h other/vapi/include/vapi_features.h other/vapi/include/vapi_inline.h \
	other/vapi/include/vapi_types.h other/vapi/include/wrap_common.h
include_HEADERS += $(vapi_headers)

libvapi_la_SOURCES = other/vapi/src/av.c other/vapi/src/block.c other/vapi/src/cq.c other/vapi/src/errors.c other/vapi/src/event.c other/vapi/src/event_record.c \
	other/vapi/src/event_record.h other/vapi/src/wc_status.h \
	other/vapi/src/firmware.h other/vapi/src/fmr.c other/vapi/src/hca.c other/vapi/src/send_ring.c other/vapi/src/list.c other/vapi/src/modify.c other/vapi/src/mcast.c other/vapi/src/mr.c other/vapi/src/mw.c other/vapi/src/rare.c other/vapi/src/srq.c other/vapi/src/objects.h \
	other/vapi/src/pd.c other/vapi/src/poll.c other/vapi/src/post.c other/vapi/src/post.h other/vapi/src/public.h other/vapi/src/qp.c other/vapi/src/qp_rules.c \
	other/vapi/src/qp_rules.h other/vapi/src/query.c other/vapi/src/slots.c other/vapi/src/strings.c $(roce_table_sources)
libvapi_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libvapi_la_CFLAGS = $(hot_cflags) -pthread
libvapi_la_LDFLAGS = -avoid-version -pthread
libvapi_la_LIBADD = $(VERBS_LIBS)

# Link lines of old name these beside it.
lib_LTLIBRARIES += libmosal.la libmpga.la libmtl_common.la
libmosal_la_SOURCES = other/vapi/src/stubs.c
libmosal_la_LDFLAGS = -avoid-version
libmpga_la_SOURCES = other/vapi/src/stubs.c
libmpga_la_LDFLAGS = -avoid-version
libmtl_common_la_SOURCES = other/vapi/src/stubs.c
libmtl_common_la_LDFLAGS = -avoid-version
vapi_made = libvapi.la libmosal.la libmpga.la libmtl_common.la
