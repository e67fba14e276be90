/* scene.c - see scene.h. */
#include "other/portals3/tests/scene.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

ptl_handle_eq_t eq;

ptl_md_t describe(void *start, ptl_size_t length, unsigned options, ptl_handle_eq_t queue)
{
    return (ptl_md_t){.start = start,
                      .length = length,
                      .threshold = PTL_MD_THRESH_INF,
                      .options = options | PTL_MD_EVENT_START_DISABLE,
                      .eq_handle = queue};
}

ptl_handle_md_t bind_md(void *start, ptl_size_t length)
{
    ptl_handle_md_t md;
    must(PtlMDBind(family_ni, describe(start, length, 0, eq), PTL_RETAIN, &md));
    return md;
}

void begin(void)
{
    family_open(PTL_PID_ANY);
    must(PtlEQAlloc(family_ni, EVENTS, PTL_EQ_HANDLER_NONE, &eq));
}

ptl_event_t next_event(void)
{
    ptl_event_t event;
    int which, code = PtlEQPoll(&eq, 1, 30000, &event, &which);
    if (code != PTL_OK) family_fail("no event in 30 s: %s", PtlErrorStr((unsigned)code));
    return event;
}

ptl_event_t expect(ptl_event_kind_t kind)
{
    ptl_event_t event = next_event();
    if (event.type != kind)
        family_fail("%s instead of %s", PtlEventKindStr(event.type), PtlEventKindStr(kind));
    return event;
}

void well(ptl_event_kind_t kind)
{
    if (expect(kind).ni_fail_type != PTL_NI_OK)
        family_fail("%s reports a failure", PtlEventKindStr(kind));
}

void put(ptl_handle_md_t md, ptl_size_t length, int rank, ptl_match_bits_t bits, ptl_size_t to,
         ptl_ack_req_t ack)
{
    must(PtlPutRegion(md, 0, length, ack, family->id[rank], PT, 0, bits, to, 0));
}

void get(ptl_handle_md_t md, ptl_size_t length, int rank, ptl_match_bits_t bits, ptl_size_t from)
{
    must(PtlGetRegion(md, 0, length, family->id[rank], PT, 0, bits, from));
}

static int count, bad;

void scene(int argc, char **argv, const char *word, int size, void (*body)(void), bool dies,
           const char *name)
{
    int expected[FAMILY_MOST] = {dies ? SIGKILL : 0};
    bool wanted = argc < 2;
    for (int i = 1; i < argc; i++) wanted |= !strcmp(argv[i], word);
    if (!wanted) return;
    int wrong = family_run(size, body, expected);
    bad |= wrong;
    printf("%sok %d - %s\n", wrong ? "not " : "", ++count, name);
}

int scenes_over(void)
{
    printf("1..%d\n", count);
    return bad != 0;
}
