/* descriptions.h - random descriptions of both sides of a vector, indexed or strided transfer, and
 * the address of each of their bytes: the model that testvis compares the library with.
 */
#ifndef DESCRIPTIONS_H
#define DESCRIPTIONS_H

#include "tests/programs/test.h"

enum kind { VECTOR, INDEXED, STRIDED, KINDS };
enum direction { PUT, GET };
enum form { BULK, NB, NBI, FORMS };
enum { MOST_BYTES = 96 * 1024, MOST_ENTRIES = 16 * 1024, MOST_LEVELS = 24 };

/* A side of a transfer. `byte` has the offset of each byte of the stream from `base`, in the
 * stream's order.
 */
struct side {
    char *base;
    size_t count, length;
    gasnet_memvec_t *vector; /* [MOST_ENTRIES] */
    void **addresses;        /* [MOST_ENTRIES] */
    char *start;
    size_t strides[MOST_LEVELS];
    uint32_t *byte; /* [MOST_BYTES] */
};

struct transfer {
    enum kind kind;
    struct side dst, src;
    size_t levels, counts[MOST_LEVELS + 1], bytes;
};

/* The properties of a random description. */
struct wish {
    enum kind kind;
    size_t bytes; /* about */
    size_t piece; /* bytes of a piece at most */
    size_t room;  /* of the memory of each side */
};

void transfer_init(struct transfer *t);
void transfer_free(struct transfer *t);

/* Describes a random transfer between the `room` bytes at `dst` and at `src`: pieces of the source
 * may overlap, those of the destination do not. */
void transfer_make(struct transfer *t, const struct wish *wish, char *dst, char *src,
                   struct test_random *random);

/* Makes the call; the handle is invalid but for NB. */
gasnet_handle_t transfer_call(const struct transfer *t, enum direction direction, enum form form,
                              gasnet_node_t node);

/* A number that changes with any word of the description. */
uint64_t transfer_digest(const struct transfer *t);

/* A line about it, for a check that failed. */
const char *transfer_text(const struct transfer *t, enum direction direction, enum form form);

#endif
