/* ptl_script.c - the scripted libportals: see ptl_script.h.
 */
#include "tests/unit/ptl_script.h"

#include <errno.h>
#include <portals3_ext.h>
#include <stdint.h>

#include "other/softhca/include/softhca.h"
#include "tests/unit/script_record.h"

enum { MDS = 4096, MES = 4096, EQS = 8, ENTRIES = 64, BASE = 1000 };

typedef struct md {
    bool live, inactive, unlinks;
    ptl_md_t md;
    ptl_handle_me_t me; /* 0: bound */
    ptl_size_t local;
} md_t;

typedef struct me {
    bool live, unlinks;
    ptl_match_bits_t bits, ignored;
    ptl_handle_md_t md;   /* 0: none */
    ptl_handle_me_t next; /* 0: the last */
    ptl_pt_index_t entry;
} me_t;

typedef struct eq {
    bool live;
    ptl_event_t *event;
    ptl_size_t size, first, count;
} eq_t;

static md_t mds[MDS];
static me_t mes[MES];
static eq_t eqs[EQS];
static ptl_handle_me_t heads[ENTRIES];
static script_record_t ops;     /* ptl_script_op_t */
static script_record_t unlinks; /* ptl_event_t, kept back */

const void *ptl_script_unpinnable;
bool ptl_script_hold_unlinks, ptl_script_no_space, ptl_script_refuses, ptl_script_bytes,
    ptl_script_notes;

#define broken(what) script_broken("a rule of Portals is", what)

/* Handles are indexes from BASE on; no two kinds share a number. */
static unsigned index_of(ptl_handle_any_t handle, unsigned kind)
{
    unsigned at = handle - BASE - kind * 100000;
    if (handle < BASE || at >= 100000) broken("a handle of another kind");
    return at;
}

static ptl_handle_any_t handle_of(unsigned at, unsigned kind)
{
    return at + BASE + kind * 100000;
}
enum { ME, MD, EQ };

static md_t *md_of(ptl_handle_md_t handle)
{
    unsigned at = index_of(handle, MD);
    if (at >= MDS || !mds[at].live) broken("a descriptor that is gone");
    return &mds[at];
}

static me_t *me_of(ptl_handle_me_t handle)
{
    unsigned at = index_of(handle, ME);
    if (at >= MES || !mes[at].live) broken("a match entry that is gone");
    return &mes[at];
}

/* --- events --- */

static uint64_t logged; /* events of all queues */

static void log_event(ptl_handle_eq_t handle, const ptl_event_t *event)
{
    if (handle == PTL_EQ_NONE) return;
    logged++;
    eq_t *eq = &eqs[index_of(handle, EQ)];
    if (eq->count == eq->size) broken("an event queue is full");
    eq->event[(eq->first + eq->count++) % eq->size] = *event;
}

static bool disabled(const ptl_md_t *md, ptl_event_kind_t type)
{
    return (md->options & PTL_MD_EVENT_END_DISABLE) && type != PTL_EVENT_ACK &&
           type != PTL_EVENT_UNLINK;
}

static void log_op(ptl_script_op_t *op, ptl_event_kind_t type, ptl_ni_fail_t fail)
{
    md_of(op->md); /* the descriptor must still be valid */
    const ptl_event_t event = {.type = type,
                               .initiator = op->target,
                               .match_bits = op->bits,
                               .rlength = op->length,
                               .mlength = op->length,
                               .offset = type == PTL_EVENT_ACK ? op->there : op->offset,
                               .md_handle = op->md,
                               .md = op->from,
                               .hdr_data = op->header,
                               .ni_fail_type = fail};
    op->events++;
    if (!disabled(&op->from, type)) log_event(op->from.eq_handle, &event);
}

void ptl_script_sent(ptl_script_op_t *op)
{
    /* A Reply may have come to where its Request was. */
    if (op->bytes && op->length && op->entry != 39 &&
        memcmp(op->bytes, (char *)op->from.start + op->offset, op->length) != 0)
        broken("the source of a put has changed before it was sent");
    log_op(op, PTL_EVENT_SEND_END, PTL_NI_OK);
}

void ptl_script_acked(ptl_script_op_t *op)
{
    if (!op->ack) broken("(the test) no acknowledgement was requested");
    log_op(op, PTL_EVENT_ACK, PTL_NI_OK);
}

void ptl_script_got(ptl_script_op_t *op, const void *bytes)
{
    md_of(op->md);
    memcpy((char *)op->from.start + op->offset, bytes, op->length);
    log_op(op, PTL_EVENT_REPLY_END, PTL_NI_OK);
}

void ptl_script_failed(ptl_script_op_t *op)
{
    bool told =
        op->events || disabled(&op->from, PTL_EVENT_SEND_END); /* SEND_END does not report it */
    log_op(op,
           op->kind == PTL_SCRIPT_GET ? PTL_EVENT_REPLY_END
           : op->ack && told          ? PTL_EVENT_ACK
                                      : PTL_EVENT_SEND_END,
           PTL_NI_FAIL);
}

int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler, ptl_handle_eq_t *out)
{
    (void)ni, (void)handler;
    unsigned at = 0;
    while (eqs[at].live)
        if (++at == EQS) return PTL_NO_SPACE;
    eqs[at] = (eq_t){.live = true, .event = calloc(count, sizeof(ptl_event_t)), .size = count};
    *out = handle_of(at, EQ);
    return eqs[at].event ? PTL_OK : PTL_NO_SPACE;
}

struct ptl_script_looks ptl_script_looks;

int PtlEQNext(ptl_handle_eq_t handle, const ptl_event_t **events, ptl_size_t *count)
{
    eq_t *eq = &eqs[index_of(handle, EQ)];
    struct ptl_script_looks *looks = &ptl_script_looks;
    if (looks->count < 4 && (looks->count == 0 || looks->queue[looks->count - 1] != handle))
        looks->queue[looks->count++] = handle;
    if (!eq->count) return PTL_EQ_EMPTY;
    *events = &eq->event[eq->first];
    *count = eq->count < eq->size - eq->first ? eq->count : eq->size - eq->first;
    return PTL_OK;
}

void PtlEQDone(ptl_handle_eq_t handle, ptl_size_t count)
{
    eq_t *eq = &eqs[index_of(handle, EQ)];
    if (eq->count < count) broken("events that are not there are done");
    eq->first = (eq->first + count) % eq->size;
    eq->count -= count;
}

int PtlEQCount(const ptl_handle_eq_t *handles, int size, ptl_size_t *counts)
{
    for (int i = 0; i < size; i++) counts[i] = eqs[index_of(handles[i], EQ)].count;
    return PTL_OK;
}

/* --- lists and descriptors --- */

static ptl_handle_me_t make_me(ptl_pt_index_t entry, ptl_match_bits_t bits,
                               ptl_match_bits_t ignored, ptl_unlink_t unlink)
{
    unsigned at = 0;
    while (mes[at].live)
        if (++at == MES) broken("too many match entries");
    mes[at] = (me_t){.live = true,
                     .unlinks = unlink == PTL_UNLINK,
                     .bits = bits,
                     .ignored = ignored,
                     .entry = entry};
    return handle_of(at, ME);
}

int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t entry, ptl_process_id_t id,
                ptl_match_bits_t bits, ptl_match_bits_t ignored, ptl_unlink_t unlink,
                ptl_ins_pos_t where, ptl_handle_me_t *out)
{
    (void)ni, (void)id;
    *out = make_me(entry, bits, ignored, unlink);
    ptl_handle_me_t *at = &heads[entry];
    while (where == PTL_INS_AFTER && *at) at = &me_of(*at)->next;
    me_of(*out)->next = *at;
    *at = *out;
    return PTL_OK;
}

int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t id, ptl_match_bits_t bits,
                ptl_match_bits_t ignored, ptl_unlink_t unlink, ptl_ins_pos_t where,
                ptl_handle_me_t *out)
{
    (void)id;
    *out = make_me(me_of(base)->entry, bits, ignored, unlink);
    ptl_handle_me_t *at = &heads[me_of(base)->entry];
    while (*at != base) at = &me_of(*at)->next;
    if (where == PTL_INS_AFTER) at = &me_of(base)->next;
    me_of(*out)->next = *at;
    *at = *out;
    return PTL_OK;
}

int PtlMEUnlink(ptl_handle_me_t handle)
{
    me_t *me = me_of(handle);
    ptl_handle_me_t *at = &heads[me->entry];
    while (*at != handle) at = &me_of(*at)->next;
    *at = me->next;
    me->live = false;
    return PTL_OK;
}

static int make_md(ptl_md_t md, ptl_handle_me_t me, ptl_unlink_t unlink, ptl_handle_md_t *out)
{
    unsigned at = 0;
    while (mds[at].live)
        if (++at == MDS) return PTL_NO_SPACE;
    mds[at] = (md_t){.live = true, .unlinks = unlink == PTL_UNLINK, .md = md, .me = me};
    *out = handle_of(at, MD);
    return PTL_OK;
}

int PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *out)
{
    ptl_handle_md_t handle;
    if (me_of(me)->md) return PTL_ME_IN_USE;
    if (ptl_script_no_space) return PTL_NO_SPACE;
    int error = make_md(md, me, unlink, &handle);
    if (error) return error;
    me_of(me)->md = handle;
    if (out) *out = handle;
    return PTL_OK;
}

int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *out)
{
    (void)ni;
    if (ptl_script_no_space) return PTL_NO_SPACE;
    if (ptl_script_unpinnable && md.start == ptl_script_unpinnable) {
        errno = EFAULT;
        return PTL_NO_SPACE;
    }
    return make_md(md, 0, unlink, out);
}

int PtlMDUnlink(ptl_handle_md_t handle)
{
    md_t *md = md_of(handle);
    md->live = false;
    if (md->me && me_of(md->me)->unlinks) PtlMEUnlink(md->me);
    return PTL_OK;
}

unsigned ptl_script_descriptors(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < MDS; i++) n += mds[i].live;
    return n;
}

unsigned ptl_script_entries(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < MES; i++) n += mes[i].live;
    return n;
}

/* --- operations of the conduit --- */

static ptl_script_op_t *new_op(ptl_script_op_t like)
{
    return script_append(&ops, script_copy(&like, sizeof like));
}

static ptl_script_op_t *start(enum ptl_script_kind kind, ptl_handle_md_t handle, ptl_size_t offset,
                              ptl_size_t length)
{
    const md_t *md = md_of(handle);
    if (offset > md->md.length || length > md->md.length - offset)
        broken("a range outside its descriptor");
    return new_op((ptl_script_op_t){
        .kind = kind,
        .md = handle,
        .from = md->md,
        .offset = offset,
        .length = length,
        .bytes =
            kind == PTL_SCRIPT_PUT ? script_copy((char *)md->md.start + offset, length) : NULL});
}

int PtlPutRegion(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack,
                 ptl_process_id_t target, ptl_pt_index_t entry, ptl_ac_index_t ac,
                 ptl_match_bits_t bits, ptl_size_t there, ptl_hdr_data_t header)
{
    (void)ac;
    if (ptl_script_refuses) return PTL_NO_SPACE;
    ptl_script_op_t *op = start(PTL_SCRIPT_PUT, md, offset, length);
    op->ack = ack == PTL_ACK_REQ;
    op->target = target;
    op->entry = entry;
    op->bits = bits;
    op->there = there;
    op->header = header;
    return PTL_OK;
}

struct path {
    ptl_process_id_t target;
    ptl_pt_index_t entry;
};

int PtlPathOpen(ptl_handle_ni_t ni, ptl_process_id_t target, ptl_pt_index_t entry, ptl_path_t *path)
{
    static struct path paths[ENTRIES];
    static unsigned made;
    (void)ni;
    unsigned at = 0;
    while (at < made && (paths[at].target.pid != target.pid || paths[at].entry != entry)) at++;
    if (at == ENTRIES) broken("(the test) too many paths");
    if (at == made) paths[made++] = (struct path){target, entry};
    *path = (ptl_path_t)(void *)&paths[at];
    return PTL_OK;
}

static void take_path(ptl_script_op_t *op, ptl_path_t path)
{
    const struct path *to = (const void *)path;
    op->target = to->target;
    op->entry = to->entry;
}

int PtlPutBytes(ptl_path_t path, const void *data, ptl_size_t length, ptl_match_bits_t bits,
                ptl_size_t there, ptl_hdr_data_t header)
{
    if (!ptl_script_bytes || !path) return PTL_NO_SPACE;
    take_path(new_op((ptl_script_op_t){.kind = PTL_SCRIPT_PUT,
                                       .md = PTL_INVALID_HANDLE,
                                       .length = length,
                                       .there = there,
                                       .bits = bits,
                                       .header = header,
                                       .bytes = script_copy(data, length)}),
              path);
    return PTL_OK;
}

/* --- operations without events --- */

static ptl_note_t *notes, **last_note = &notes;

static int start_noted(enum ptl_script_kind kind, ptl_path_t path, const void *local,
                       ptl_size_t length, ptl_handle_md_t handle, ptl_match_bits_t bits,
                       ptl_size_t there, ptl_note_t *note)
{
    const bool copied = kind == PTL_SCRIPT_PUT && length <= PTL_SCRIPT_COPIED;
    if (!ptl_script_notes || !path || (!copied && handle == PTL_INVALID_HANDLE))
        return PTL_NO_SPACE;
    ptl_size_t offset = 0;
    if (!copied) {
        const md_t *md = md_of(handle);
        offset = (ptl_size_t)((const char *)local - (const char *)md->md.start);
        if (offset > md->md.length || length > md->md.length - offset)
            broken("a range outside its descriptor");
    }
    take_path(new_op((ptl_script_op_t){
                  .kind = kind,
                  .md = copied ? PTL_INVALID_HANDLE : handle,
                  .from = copied ? (ptl_md_t){0} : mds[index_of(handle, MD)].md,
                  .offset = offset,
                  .length = length,
                  .there = there,
                  .bits = bits,
                  .note = note,
                  .bytes = kind == PTL_SCRIPT_PUT ? script_copy(local, length) : NULL}),
              path);
    return PTL_OK;
}

int PtlPutBytesNoted(ptl_path_t path, const void *data, ptl_size_t length, ptl_match_bits_t bits,
                     ptl_size_t there, ptl_note_t *note)
{
    return start_noted(PTL_SCRIPT_PUT, path, data, length, PTL_INVALID_HANDLE, bits, there, note);
}

int PtlPutNoted(ptl_path_t path, const void *local, ptl_size_t length, ptl_match_bits_t bits,
                ptl_size_t there, ptl_note_t *note)
{
    return start_noted(PTL_SCRIPT_PUT, path, local, length, note->md, bits, there, note);
}

int PtlGetNoted(ptl_path_t path, void *local, ptl_size_t length, ptl_match_bits_t bits,
                ptl_size_t there, ptl_note_t *note)
{
    return start_noted(PTL_SCRIPT_GET, path, local, length, note->md, bits, there, note);
}

void ptl_script_ended(ptl_script_op_t *op, ptl_ni_fail_t fail)
{
    if (!op->note) broken("(the test) the operation has no note");
    if (op->md != PTL_INVALID_HANDLE) md_of(op->md); /* the descriptor must still be valid */
    op->note->fail = fail;
    op->note->next = NULL;
    *last_note = op->note;
    last_note = &op->note->next;
}

int PtlPoll(ptl_handle_ni_t ni, uint64_t *seen, ptl_note_t **ended)
{
    (void)ni;
    *ended = notes;
    notes = NULL;
    last_note = &notes;
    if (*seen == logged) return PTL_EQ_EMPTY;
    *seen = logged;
    return PTL_OK;
}

int PtlGetRegion(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_process_id_t target,
                 ptl_pt_index_t entry, ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t there)
{
    (void)ac;
    ptl_script_op_t *op = start(PTL_SCRIPT_GET, md, offset, length);
    op->target = target;
    op->entry = entry;
    op->bits = bits;
    op->there = there;
    return PTL_OK;
}

unsigned ptl_script_ops(void)
{
    return script_left(&ops);
}

ptl_script_op_t *ptl_script_op(int n)
{
    unsigned at = (unsigned)n + (n < 0 ? ops.count : ops.first);
    if (at < ops.first || at >= ops.count) broken("(the test) looks at an operation never started");
    return ops.entry[at];
}

void ptl_script_forget(void)
{
    ops.first = ops.count;
}

/* --- what arrives --- */

static bool takes(const md_t *md, const ptl_script_message_t *m, ptl_size_t *offset,
                  ptl_size_t *accepted)
{
    if (md->inactive || !(md->md.options & PTL_MD_OP_PUT)) return false;
    *offset = md->md.options & PTL_MD_MANAGE_REMOTE ? m->offset : md->local;
    if (*offset > md->md.length) return false;
    *accepted = md->md.length - *offset;
    if (m->length <= *accepted)
        *accepted = m->length;
    else if (!(md->md.options & PTL_MD_TRUNCATE))
        return false;
    return true;
}

static void fill(ptl_handle_md_t handle, const ptl_script_message_t *m, ptl_size_t offset,
                 ptl_size_t accepted)
{
    md_t *md = md_of(handle);
    ptl_event_t event = {.type = PTL_EVENT_PUT_END,
                         .initiator = {.nid = 7, .pid = m->from},
                         .pt_index = m->entry,
                         .match_bits = m->bits,
                         .rlength = m->length,
                         .mlength = accepted,
                         .offset = offset,
                         .md_handle = handle,
                         .md = md->md,
                         .hdr_data = m->header,
                         .ni_fail_type = m->fails ? PTL_NI_FAIL : PTL_NI_OK};
    if (accepted) memcpy((char *)md->md.start + offset, m->bytes, accepted);
    if (!(md->md.options & PTL_MD_MANAGE_REMOTE)) md->local += accepted;
    if (!disabled(&md->md, PTL_EVENT_PUT_END)) log_event(md->md.eq_handle, &event);
    if (!(md->md.options & PTL_MD_MAX_SIZE) || md->md.length - md->local >= md->md.max_size) return;
    md->inactive = true;
    if (!md->unlinks) return;
    event.type = PTL_EVENT_UNLINK;
    PtlMDUnlink(handle);
    if (ptl_script_hold_unlinks)
        script_append(&unlinks, script_copy(&event, sizeof event));
    else
        log_event(event.md.eq_handle, &event);
}

bool ptl_script_unlink(void)
{
    ptl_event_t *event = script_take(&unlinks);
    if (event) log_event(event->md.eq_handle, event);
    free(event);
    return event;
}

bool ptl_script_arrive(const ptl_script_message_t *m)
{
    for (ptl_handle_me_t at = heads[m->entry]; at; at = me_of(at)->next) {
        const me_t *me = me_of(at);
        ptl_size_t offset, accepted;
        if (((m->bits ^ me->bits) & ~me->ignored) || !me->md) continue;
        if (!takes(md_of(me->md), m, &offset, &accepted)) continue;
        fill(me->md, m, offset, accepted);
        return true;
    }
    return false;
}

/* --- the rest --- */

void ptl_script_reset(void)
{
    for (unsigned i = 0; i < ops.count; i++) free(((ptl_script_op_t *)ops.entry[i])->bytes);
    script_clear(&ops);
    script_clear(&unlinks);
    for (unsigned i = 0; i < EQS; i++) free(eqs[i].event);
    memset(mds, 0, sizeof mds);
    memset(mes, 0, sizeof mes);
    memset(eqs, 0, sizeof eqs);
    memset(heads, 0, sizeof heads);
    ptl_script_hold_unlinks = ptl_script_no_space = ptl_script_refuses = false;
    ptl_script_unpinnable = NULL;
    ptl_script_bytes = ptl_script_notes = false;
}

int PtlInit(int *interfaces)
{
    *interfaces = 1;
    return PTL_OK;
}

void PtlFini(void) {}

int PtlNIInit(ptl_interface_t iface, ptl_pid_t pid, ptl_ni_limits_t *desired,
              ptl_ni_limits_t *actual, ptl_handle_ni_t *ni)
{
    (void)iface, (void)pid, (void)desired;
    *actual = (ptl_ni_limits_t){.max_mes = MES, .max_mds = MDS, .max_eqs = EQS, .max_pt_index = 63};
    *ni = 1;
    return PTL_OK;
}

int PtlSetKey(const void *key, ptl_size_t size)
{
    (void)key, (void)size;
    return PTL_OK;
}

int PtlNIFini(ptl_handle_ni_t ni)
{
    (void)ni;
    return PTL_OK;
}

int PtlDeviceText(ptl_handle_ni_t ni, char *text, int size)
{
    (void)ni;
    snprintf(text, (size_t)size, "script0 port 1");
    return PTL_OK;
}

int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id)
{
    (void)ni;
    *id = (ptl_process_id_t){.nid = 7, .pid = 100};
    return PTL_OK;
}

ptl_sr_value_t ptl_script_breaks, ptl_script_answers;

int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t reg, ptl_sr_value_t *value)
{
    (void)ni;
    if (reg != PTL_SR_BREAKS && reg != PTL_SR_ANSWERS) return PTL_SR_INDEX_INVALID;
    *value = reg == PTL_SR_BREAKS ? ptl_script_breaks : ptl_script_answers;
    return PTL_OK;
}

const char *PtlErrorStr(unsigned code)
{
    return code == PTL_OK ? "PTL_OK" : "a Portals error";
}

/* The device beneath is not asked. */
int softhca_active(void)
{
    return 1;
}

uint32_t *softhca_sleeper(void (*wake)(uint32_t number))
{
    (void)wake;
    return NULL;
}

int softhca_charges(size_t *bytes)
{
    (void)bytes;
    return 0;
}

const char *softhca_describe(void)
{
    return "a script";
}

void softhca_number(unsigned n)
{
    (void)n;
}

int softhca_hosts(const char *hosts, const char *secret,
                  const char *(*user_value)(const char *name))
{
    (void)hosts, (void)secret, (void)user_value;
    return 0;
}

size_t softhca_trouble(char *line, size_t size)
{
    (void)line, (void)size;
    return 0;
}

void PtlTroubleHandler(ptl_trouble_handler_t handler)
{
    (void)handler;
}

void PtlProgressHandler(ptl_progress_handler_t handler)
{
    (void)handler;
}

void *softhca_alloc(size_t bytes)
{
    size_t size = (bytes + 4095) & ~(size_t)4095;
    void *block = aligned_alloc(4096, size ? size : 4096);
    if (block) memset(block, 0, size);
    return block;
}

void softhca_free(void *block)
{
    free(block);
}
