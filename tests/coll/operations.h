/* operations.h - a collective operation of the tests: its memory, its call, its expected result.
 *
 * Every image makes the same description, from a stream of random numbers that is the same on all.
 * Contents and addresses of all participants follow from it, so that each knows what it must find
 * and SINGLE's lists need no communication.
 */
#ifndef TEST_COLL_OPERATIONS_H
#define TEST_COLL_OPERATIONS_H

#include "tests/coll/combine.h"
#include "tests/coll/images.h"

enum kind { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, REDUCE, KINDS };
extern const char *const kind_names[KINDS];

enum memory { SEGMENT, ARENA /* not in the segment */, MIXED /* by participant */, MEMORIES };
enum {
    REGION = 8 << 20, /* bytes that each image has in the segment, and as many in the arena */
    OPERATIONS_OFFSET =
        1 << 20, /* of the regions in the segment; below it programs have their own */
};

/* The participants of a team.  Those of a node are consecutive.  */
struct group {
    gasnet_team_handle_t team;
    int count;
    const int *image; /* [count] */
    int first, here;  /* of this node */
    int flags;        /* of every call */
    bool one_each;    /* no node has several */
};

struct operation {
    const struct group *group;
    enum kind kind;
    bool list, single, in_place;
    enum memory src, dst;
    int sync; /* GASNET_COLL_IN_..., OUT_... and AGGREGATE */
    int root; /* participant */
    size_t nbytes;
    int function;     /* of REDUCE: combine.h */
    size_t elem_size; /* the same */
    uint64_t key;     /* of the contents */
    size_t offset;    /* of its memory in every region */
    void **lists;
    gasnet_coll_handle_t handle;
};

/* Segment bytes of a node with `images` images; maps the arena.  To be called before attach; after
 * it operations_check_arena.  */
uintptr_t operations_segment(int images);
void operations_check_arena(void);

/* The group of all images; of one image each node with GASNET_COLL_NO_IMAGES.  */
struct group *group_of_all(bool no_images);
struct group *group_of_team(gasnet_team_handle_t team);
void group_free(struct group *group);
int group_me(const struct group *group); /* the calling image's participant number */

/* An operation with all members but kind, nbytes and offset chosen at random.  */
struct operation operation_random(struct test_random *shared, const struct group *group,
                                  enum kind kind, size_t nbytes);
/* Any kind, with at most `most` bytes in all blocks together.  */
struct operation operation_any(struct test_random *shared, const struct group *group, size_t most);
/* To be called when members were changed: adapts the others, so that the call is legal.  */
void operation_settle(struct operation *op);
int sync_mode(int number); /* one of the nine pairs of synchronisation flags */

/* Addresses of a participant's, which may be on another node.  */
void *operation_source(const struct operation *op, int participant);
void *operation_destination(const struct operation *op, int participant);
size_t operation_extent(const struct operation *op); /* bytes in a region */
void operation_prepare(const struct operation *op);  /* fills the calling image's memory */
void operation_start(struct operation *op);
void operation_run(struct operation *op); /* the blocking form */
/* True if the memory of the calling image is as before the operation, or as after it. */
bool operation_untouched(const struct operation *op, int participant);
bool operation_check(const struct operation *op);
/* operation_scribble overwrites the calling image's memory; operation_scribbled is true if it still
 * is overwritten. */
void operation_scribble(const struct operation *op);
bool operation_scribbled(const struct operation *op);
/* Frees what the call took.  */
void operation_end(struct operation *op);

#endif
