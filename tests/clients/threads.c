/* threads.c - a correct client of the PAR library with several threads, for sanitized.sh: what they
 * share is ordered by the library's locks, atomics and barriers alone, which a sanitizer must see.
 */
#include <gasnet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gasnet_tools.h>

enum { H_PING = 200, H_PONG, THREADS = 3, ROUNDS = 40, SIZE = 70000 };

static gasnet_node_t me, right;
static gasnet_seginfo_t *segments;
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static int under_lock; /* plain */
static gasnett_atomic_t pongs = gasnett_atomic_init(0);
static int announced; /* plain, published by a fence and an atomic */
static gasnett_atomic_t published = gasnett_atomic_init(0);

static void on_ping(gasnet_token_t token, void *data, size_t bytes, gasnet_handlerarg_t key)
{
    for (size_t i = 0; i < bytes; i++)
        if (((unsigned char *)data)[i] != (unsigned char)key) abort();
    gasnet_AMReplyShort0(token, H_PONG);
}
static void on_pong(gasnet_token_t token)
{
    (void)token;
    gasnet_hsl_lock(&lock);
    under_lock++;
    gasnet_hsl_unlock(&lock);
    gasnett_atomic_increment(&pongs, GASNETT_ATOMIC_REL);
}

static void *work(void *arg)
{
    const int id = *(int *)arg;
    char *there = (char *)segments[right].addr + id * SIZE;
    unsigned char *out = malloc(SIZE), *in = malloc(SIZE);
    while (!gasnett_atomic_read(&published, 0)) continue;
    gasnett_local_rmb();
    if (announced != 7) abort();
    for (int round = 0; round < ROUNDS; round++) {
        memset(out, round + id, SIZE);
        gasnet_put_bulk(right, there, out, SIZE);
        gasnet_get_bulk(in, right, there, SIZE);
        if (memcmp(in, out, SIZE) != 0) abort();
        gasnet_AMRequestMedium1(right, H_PING, out, 1000, (unsigned char)(round + id));
        gasnet_wait_syncnb(gasnet_put_nb(right, there, out, 8));
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t table[] = {{H_PING, (void (*)())on_ping}, {H_PONG, (void (*)())on_pong}};
    pthread_t thread[THREADS];
    int id[THREADS];
    if (gasnet_init(&argc, &argv) || gasnet_attach(table, 2, 64 * GASNET_PAGESIZE, 0)) return 1;
    me = gasnet_mynode(), right = (me + 1) % gasnet_nodes();
    segments = calloc(gasnet_nodes(), sizeof *segments);
    gasnet_getSegmentInfo(segments, (int)gasnet_nodes());
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    for (int i = 0; i < THREADS; i++) {
        id[i] = i;
        pthread_create(&thread[i], NULL, work, &id[i]);
    }
    announced = 7;
    gasnett_local_wmb();
    gasnett_atomic_set(&published, 1, 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    GASNET_BLOCKUNTIL(gasnett_atomic_read(&pongs, GASNETT_ATOMIC_ACQ) == THREADS * ROUNDS);
    gasnet_hsl_lock(&lock);
    if (under_lock != THREADS * ROUNDS) abort();
    gasnet_hsl_unlock(&lock);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    printf("right\n");
    gasnet_exit(0);
}
