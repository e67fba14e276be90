# other/vapi: Mellanox's VAPI interface over libibverbs.
lib_LTLIBRARIES += libvapi.la
vapi_headers = other/vapi/include/evapi.h other/vapi/include/ib_defs.h other/vapi/include/mosal.h \
	other/vapi/include/mpga.h other/vapi/include/mtl_common.h other/vapi/include/mtl_types.h \
	other/vapi/include/vapi.h other/vapi/include/vapi_common.h other/vapi/include/vapi_features.h other/vapi/include/vapi_inline.h \
	other/vapi/include/vapi_types.h other/vapi/include/wrap_common.h
include_HEADERS += $(vapi_headers)

libvapi_la_SOURCES = other/vapi/av.c other/vapi/block.c other/vapi/cq.c other/vapi/errors.c other/vapi/event.c other/vapi/event_record.c \
	other/vapi/event_record.h other/vapi/wc_status.h \
	other/vapi/firmware.h other/vapi/fmr.c other/vapi/hca.c other/vapi/send_ring.c other/vapi/list.c other/vapi/modify.c other/vapi/mcast.c other/vapi/mr.c other/vapi/mw.c other/vapi/rare.c other/vapi/srq.c other/vapi/objects.h \
	other/vapi/pd.c other/vapi/poll.c other/vapi/post.c other/vapi/post.h other/vapi/public.h other/vapi/qp.c other/vapi/qp_rules.c \
	other/vapi/qp_rules.h other/vapi/query.c other/vapi/slots.c other/vapi/strings.c $(roce_table_sources)
libvapi_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
libvapi_la_CFLAGS = $(hot_cflags) -pthread
libvapi_la_LDFLAGS = -avoid-version -pthread
libvapi_la_LIBADD = $(VERBS_LIBS)

# Link lines of old name these beside it.
lib_LTLIBRARIES += libmosal.la libmpga.la libmtl_common.la
libmosal_la_SOURCES = other/vapi/stubs.c
libmosal_la_LDFLAGS = -avoid-version
libmpga_la_SOURCES = other/vapi/stubs.c
libmpga_la_LDFLAGS = -avoid-version
libmtl_common_la_SOURCES = other/vapi/stubs.c
libmtl_common_la_LDFLAGS = -avoid-version
