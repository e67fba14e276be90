/* images.c - the threads of images.h. */
#include "tests/coll/images.h"

int image_count, image_first, image_here;
_Thread_local int image_me = -1;
_Thread_local struct test_random image_random;

static gasnet_image_t *of_node; /* images of each node */
static int *first_of;           /* [test_size + 1] */

int image_first_of(int rank)
{
    return first_of[rank];
}

int image_rank(int image)
{
    int rank = 0;
    while (first_of[rank + 1] <= image) rank++;
    return rank;
}

static void count_images(const char *images)
{
    static const gasnet_image_t uneven[] = {3, 1, 4, 2};
    of_node = malloc((size_t)test_size * sizeof *of_node);
    first_of = malloc(((size_t)test_size + 1) * sizeof *first_of);
    first_of[0] = 0;
    for (int r = 0; r < test_size; r++) {
        if (!images)
            of_node[r] = 1;
        else if (strcmp(images, "uneven") == 0)
            of_node[r] = uneven[r % TEST_COUNT(uneven)];
        else
            of_node[r] = (gasnet_image_t)atoi(images);
        if (of_node[r] < 1 || of_node[r] > IMAGES_MOST) {
            fprintf(stderr, "# 1 to %d images, not %s\n", IMAGES_MOST, images);
            gasnet_exit(5);
        }
        first_of[r + 1] = first_of[r] + (int)of_node[r];
    }
    image_first = first_of[test_rank];
    image_here = (int)of_node[test_rank];
    image_count = first_of[test_size];
}

static void begin_body(void)
{
    image_random = test_random_for(7000 + (uint64_t)image_me);
}

#ifdef GASNET_PAR
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all_here;
static void (*current)(void);
static int generation, running; /* under lock */
static const gasnet_image_t *given;
static gasnet_coll_fn_entry_t *given_functions;
static size_t given_count;

static void join_collectives(void)
{
    gasnet_coll_init(given, (gasnet_image_t)image_me, given_functions, given_count, 0);
}

static void *image_main(void *number)
{
    image_me = image_first + (int)(intptr_t)number;
    join_collectives();
    for (int seen = 0;;) {
        pthread_mutex_lock(&lock);
        while (generation == seen) pthread_cond_wait(&news, &lock);
        seen = generation;
        pthread_mutex_unlock(&lock);
        begin_body();
        current();
        pthread_mutex_lock(&lock);
        if (--running == 0) pthread_cond_broadcast(&news);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void start_threads(void)
{
    pthread_barrier_init(&all_here, NULL, (unsigned)image_here);
    for (int i = 1; i < image_here; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, image_main, (void *)(intptr_t)i)) gasnet_exit(5);
    }
}

void images_meet(void)
{
    if (image_here > 1) pthread_barrier_wait(&all_here);
}

void on_images(void (*body)(void))
{
    test_sync();
    pthread_mutex_lock(&lock);
    current = body;
    running = image_here - 1;
    generation++;
    pthread_cond_broadcast(&news);
    pthread_mutex_unlock(&lock);
    begin_body();
    body();
    pthread_mutex_lock(&lock);
    while (running > 0) pthread_cond_wait(&news, &lock);
    pthread_mutex_unlock(&lock);
    test_sync();
}
#else
void images_meet(void) {}

void on_images(void (*body)(void))
{
    test_sync();
    begin_body();
    body();
    test_sync();
}
#endif

void images_start(const char *images, gasnet_coll_fn_entry_t *functions, size_t count)
{
    count_images(images);
    image_me = image_first;
#ifdef GASNET_PAR
    given = images ? of_node : NULL, given_functions = functions, given_count = count;
    start_threads();
    join_collectives();
#else
    gasnet_coll_init(NULL, 0, functions, count, 0);
#endif
}

void images_barrier(void)
{
    images_meet();
    if (image_me == image_first) {
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
        gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    }
    images_meet();
}
