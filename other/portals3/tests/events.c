/* events.c - every field of every event at both ends, for short and long operations. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "other/portals3/tests/rules.h"

enum { PT = 38, TARGET_OFFSET = 40, LOCAL_OFFSET = 24 };
#define BITS   0xfedcba9876543210ull
#define HEADER 0x0123456789abcdefull

struct due {
    ptl_event_kind_t kind;
    ptl_process_id_t initiator;
    ptl_size_t rlength, mlength, offset;
    ptl_hdr_data_t hdr_data;
    ptl_handle_md_t md;
    void *start, *user_ptr;
    int threshold;
};

static ptl_seq_t look(ptl_handle_eq_t eq, const struct due *due)
{
    ptl_event_t event = ring_event(eq, due->kind);
    const char *kind = PtlEventKindStr(due->kind);
    ptl_uid_t uid;
    ptl_jid_t jid;
    PtlGetUid(ring.ni, &uid);
    PtlGetJid(ring.ni, &jid);
    ring_expect(event.initiator.nid == due->initiator.nid &&
                    event.initiator.pid == due->initiator.pid,
                "%s: the initiator is process %u of node %#x", kind, event.initiator.pid,
                event.initiator.nid);
    ring_expect(event.uid == uid && event.jid == jid, "%s: uid %u, jid %u", kind, event.uid,
                event.jid);
    ring_expect(event.pt_index == PT, "%s: table entry %u", kind, event.pt_index);
    ring_expect(event.match_bits == BITS, "%s: bits %#llx", kind,
                (unsigned long long)event.match_bits);
    ring_expect(event.rlength == due->rlength && event.mlength == due->mlength,
                "%s: lengths %llu and %llu", kind, (unsigned long long)event.rlength,
                (unsigned long long)event.mlength);
    ring_expect(event.offset == due->offset, "%s: offset %llu", kind,
                (unsigned long long)event.offset);
    ring_expect(event.md_handle == due->md, "%s: MD %#x", kind, event.md_handle);
    ring_expect(event.md.start == due->start && event.md.user_ptr == due->user_ptr &&
                    event.md.eq_handle == eq && event.md.threshold == due->threshold,
                "%s: the snapshot of the MD", kind);
    ring_expect(event.hdr_data == due->hdr_data, "%s: header data %#llx", kind,
                (unsigned long long)event.hdr_data);
    ring_expect(event.ni_fail_type == PTL_NI_OK && event.unlinked == 0, "%s: a failure", kind);
    return event.link;
}

/* START and END of one operation have the same link. */
static ptl_seq_t look_pair(ptl_handle_eq_t eq, struct due due)
{
    ptl_seq_t link;
    due.kind--;
    link = look(eq, &due);
    due.kind++;
    ring_expect(look(eq, &due) == link, "%s: another link than its START's",
                PtlEventKindStr(due.kind));
    return link;
}

struct scene {
    char *target, *local;
    ptl_handle_eq_t eq_target, eq_local;
    ptl_handle_md_t target_md, local_md;
    ptl_size_t length;
};

/* The events at the initiator, whose MD starts with a threshold of 100. */
static struct due at_local(const struct scene *scene, ptl_event_kind_t kind, int threshold)
{
    return (struct due){kind, ring.self,       scene->length, scene->length, LOCAL_OFFSET,
                        0,    scene->local_md, scene->local,  scene->local,  threshold};
}

static struct due at_target(const struct scene *scene, ptl_event_kind_t kind, int threshold)
{
    return (struct due){kind, ring.previous,    scene->length, scene->length, TARGET_OFFSET,
                        0,    scene->target_md, scene->target, scene->target, threshold};
}

static void open_scene(struct scene *scene, ptl_size_t length)
{
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
    ptl_md_t md;
    scene->length = length;
    scene->target = calloc(1, length + 100);
    scene->local = calloc(1, length + 100);
    scene->eq_target = ring_eq(16);
    scene->eq_local = ring_eq(16);
    md = ring_md(scene->target, length + 100, options, scene->eq_target);
    md.threshold = 100;
    md.user_ptr = scene->target;
    scene->target_md = ring_attach(PT, 0, ~0ull, md, PTL_RETAIN);
    md = ring_md(scene->local, length + 100, 0, scene->eq_local);
    md.threshold = 100;
    md.user_ptr = scene->local;
    scene->local_md = ring_bind(md);
    ring_barrier();
}

static void close_scene(struct scene *scene)
{
    ring_no_event(scene->eq_local);
    ring_no_event(scene->eq_target);
    ring_barrier();
    ring_unlink(scene->target_md);
    ring_unlink(scene->local_md);
    RING_OK(PtlEQFree(scene->eq_target));
    RING_OK(PtlEQFree(scene->eq_local));
    free(scene->target);
    free(scene->local);
}

static void of_put(struct scene *scene)
{
    struct due send = at_local(scene, PTL_EVENT_SEND_END, 99);
    struct due put = at_target(scene, PTL_EVENT_PUT_END, 99);
    struct due ack = at_local(scene, PTL_EVENT_ACK, 98);
    ptl_seq_t link;
    send.hdr_data = put.hdr_data = HEADER;
    ack.initiator = ring.next;
    ack.offset = TARGET_OFFSET;
    memset(scene->local + LOCAL_OFFSET, 'p', scene->length);
    RING_OK(PtlPutRegion(scene->local_md, LOCAL_OFFSET, scene->length, PTL_ACK_REQ, ring.next, PT,
                         0, BITS, TARGET_OFFSET, HEADER));
    link = look_pair(scene->eq_local, send);
    ring_expect(look(scene->eq_local, &ack) == link, "ACK: another link than its put's");
    look_pair(scene->eq_target, put);
    ring_expect(memcmp(scene->target + TARGET_OFFSET, scene->local + LOCAL_OFFSET, scene->length) ==
                        0 &&
                    scene->target[TARGET_OFFSET - 1] == 0 &&
                    scene->target[TARGET_OFFSET + scene->length] == 0,
                "the data of the put");
}

static void of_get(struct scene *scene)
{
    struct due reply = at_local(scene, PTL_EVENT_REPLY_END, 97);
    struct due get = at_target(scene, PTL_EVENT_GET_END, 98);
    reply.initiator = ring.next;
    memset(scene->target + TARGET_OFFSET, 'g', scene->length);
    ring_barrier();
    RING_OK(PtlGetRegion(scene->local_md, LOCAL_OFFSET, scene->length, ring.next, PT, 0, BITS,
                         TARGET_OFFSET));
    look_pair(scene->eq_local, reply);
    look_pair(scene->eq_target, get);
    ring_expect(
        memcmp(scene->target + TARGET_OFFSET, scene->local + LOCAL_OFFSET, scene->length) == 0 &&
            scene->local[LOCAL_OFFSET - 1] == 0 && scene->local[LOCAL_OFFSET + scene->length] == 0,
        "the data of the get");
}

static void of_getput(struct scene *scene)
{
    ptl_handle_eq_t eq_put = ring_eq(4);
    char bytes[64], old[64];
    ptl_md_t md = ring_md(bytes, sizeof bytes, 0, eq_put);
    struct due send = at_local(scene, PTL_EVENT_SEND_END, -1);
    struct due reply = at_local(scene, PTL_EVENT_REPLY_END, 96);
    struct due getput = at_target(scene, PTL_EVENT_GETPUT_END, 97);
    reply.initiator = ring.next;
    send.hdr_data = getput.hdr_data = HEADER;
    send.offset = 1;
    send.start = bytes;
    send.user_ptr = md.user_ptr = bytes;
    send.md = ring_bind(md);
    memset(bytes, 's', sizeof bytes);
    memcpy(old, scene->target + TARGET_OFFSET, scene->length);
    ring_barrier();
    RING_OK(PtlGetPutRegion(scene->local_md, LOCAL_OFFSET, send.md, 1, scene->length, ring.next, PT,
                            0, BITS, TARGET_OFFSET, HEADER));
    look_pair(eq_put, send);
    look_pair(scene->eq_local, reply);
    look_pair(scene->eq_target, getput);
    ring_expect(memcmp(scene->local + LOCAL_OFFSET, old, scene->length) == 0,
                "what the getput brought");
    ring_expect(memcmp(scene->target + TARGET_OFFSET, bytes, scene->length) == 0,
                "what the getput left");
    ring_unlink(send.md);
    RING_OK(PtlEQFree(eq_put));
}

static void fields(ptl_size_t length)
{
    struct scene scene;
    open_scene(&scene, length);
    of_put(&scene);
    ring_barrier();
    of_get(&scene);
    ring_barrier();
    if (length > 0 && length < 64) of_getput(&scene);
    ring_barrier();
    close_scene(&scene);
    ring_done("every field of the events of operations of %llu bytes", (unsigned long long)length);
}

/* Disabled events are not logged, and disabling changes nothing else. */
static void disabled(void)
{
    char target[16], local[16] = {0};
    ptl_handle_eq_t eq = ring_eq(16);
    unsigned int none = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
    unsigned int options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
    ptl_handle_eq_t eq_target = ring_eq(16);
    ptl_handle_md_t no_start = ring_attach(
        PT, 1, 0, ring_md(target, 16, options | PTL_MD_EVENT_START_DISABLE, eq_target), PTL_RETAIN);
    ptl_handle_md_t no_end = ring_attach(
        PT, 2, 0, ring_md(target, 16, options | PTL_MD_EVENT_END_DISABLE, eq_target), PTL_RETAIN);
    ptl_handle_md_t mute =
        ring_attach(PT, 3, 0, ring_md(target, 16, options | none, eq_target), PTL_RETAIN);
    ptl_handle_md_t deaf = ring_attach(
        PT, 4, 0, ring_md(target, 16, options | PTL_MD_ACK_DISABLE, PTL_EQ_NONE), PTL_RETAIN);
    ptl_handle_md_t from = ring_bind(ring_md(local, 16, none, eq));
    ptl_handle_md_t without = ring_bind(ring_md(local, 16, 0, PTL_EQ_NONE));
    ring_barrier();
    for (ptl_match_bits_t bits = 1; bits <= 3; bits++) {
        RING_OK(PtlPut(from, PTL_ACK_REQ, ring.next, PT, 0, bits, 0, 0));
        ring_event(eq, PTL_EVENT_ACK); /* which the options do not affect */
        if (bits == 1) ring_event(eq_target, PTL_EVENT_PUT_END);
        if (bits == 2) ring_event(eq_target, PTL_EVENT_PUT_START);
    }
    RING_OK(PtlPut(from, PTL_ACK_REQ, ring.next, PT, 0, 4, 0, 0));
    RING_OK(PtlPut(without, PTL_ACK_REQ, ring.next, PT, 0, 1, 0, 0));
    ring_event(eq_target, PTL_EVENT_PUT_END);
    ring_barrier();
    ring_no_event(eq);
    ring_no_event(eq_target);
    ring_unlink(no_start);
    ring_unlink(no_end);
    ring_unlink(mute);
    ring_unlink(deaf);
    ring_unlink(from);
    ring_unlink(without);
    RING_OK(PtlEQFree(eq));
    RING_OK(PtlEQFree(eq_target));
    ring_done("disabled events are absent; ACKs come and do not come as asked");
}

void rules_events(void)
{
    static const ptl_size_t lengths[] = {0, 1, 48, 4096, 16384, 16385, 300000};
    for (unsigned int i = 0; i < sizeof lengths / sizeof *lengths; i++) fields(lengths[i]);
    disabled();
}
