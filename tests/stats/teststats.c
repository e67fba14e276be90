/* teststats.c - a job whose counters are known, for stats.sh.
 *
 *   teststats WHAT FOLDER
 *
 * Rank 0 sends 7 Short Requests, 2 Mediums of 100 bytes, a packed and an unpacked Long, 5 puts of 8
 * bytes and a get to rank 1.  Then each rank makes FOLDER/ready.RANK with its process id, and does
 * WHAT: "end"; "poll" or, on rank 1, "sleep" until FOLDER/go is there; "fail", rank 1 by a fatal
 * error.
 */
#include <gasnet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/stats/ready.h"

#include <gasnet_tools.h>

enum { H_SHORT = 200, H_PAYLOAD, SEGMENT = 64 * 1024 };
static int arrived;
static gasnet_seginfo_t segment[2];

static void on_short(gasnet_token_t t)
{
    (void)t;
    arrived++;
}
static void on_payload(gasnet_token_t t, void *bytes, size_t n)
{
    (void)t, (void)bytes, (void)n;
    arrived++;
}

/* Of this program, behind the counters. */
static void own_statistics(void (*print)(const char *format, ...))
{
    print("%d messages have arrived", arrived);
    print("%s", "of rank 1\n");
}

static void traffic(void)
{
    static char bytes[20000];
    for (int i = 0; i < 7; i++) gasnet_AMRequestShort0(1, H_SHORT);
    for (int i = 0; i < 2; i++) gasnet_AMRequestMedium0(1, H_PAYLOAD, bytes, 100);
    gasnet_AMRequestLong0(1, H_PAYLOAD, bytes, 1000, segment[1].addr);
    gasnet_AMRequestLong0(1, H_PAYLOAD, bytes, 10000, segment[1].addr);
    for (int i = 0; i < 5; i++) gasnet_put(1, segment[1].addr, bytes, 8);
    gasnet_get(bytes, 1, segment[1].addr, 50);
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = {{H_SHORT, (void (*)(void))on_short},
                                     {H_PAYLOAD, (void (*)(void))on_payload}};
    if (gasnet_init(&argc, &argv) || gasnet_attach(table, 2, SEGMENT, 0)) return 1;
    if (argc != 3 || gasnet_nodes() != 2) gasnet_exit(2);
    gasnet_getSegmentInfo(segment, 2);
    const char *what = argv[1], *folder = argv[2];
    const int told = GASNETT_STATS_INIT(own_statistics);
    printf("statistics of the client: %d\n", told);
    if ((int)gasnet_mynode() == 0) traffic();
    if ((int)gasnet_mynode() == 1) GASNET_BLOCKUNTIL(arrived == 11);
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_wait(0, 0);
    say_ready(folder);
    if (!strcmp(what, "fail") && (int)gasnet_mynode() == 1)
        gasnet_put(0, (char *)segment[0].addr + SEGMENT, &arrived, sizeof arrived);
    while (strcmp(what, "end") && !go(folder)) {
        if (!strcmp(what, "sleep") && (int)gasnet_mynode() == 1)
            usleep(1000);
        else
            gasnet_AMPoll();
    }
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_wait(0, 0);
    gasnet_exit(0);
}
