/* segment.h - the segment of this process, and what serves its peers. */
#ifndef SOFTHCA_SEGMENT_H
#define SOFTHCA_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* segment.c
 * Makes the segment and claims a slot, for which CLAIM is called too unless it is NULL: 0 or an
 * errno value. *LISTENER is the socket that peers connect to. */
int shca_segment_start(int (*claim)(uint32_t slot), int *listener);
uint64_t shca_heap_alloc(size_t bytes); /* offset, 0 = full */
void shca_heap_free(uint64_t offset);
int shca_no_room(uint32_t entries); /* reports it; returns ENOMEM */
void *shca_arena_alloc(size_t bytes);
bool shca_arena_free(void *block);
void shca_segment_lock(void); /* around fork() */
void shca_segment_unlock(void);
void shca_segment_in_child(void);
uint64_t shca_map_offset(const void *addr, size_t len); /* or SHCA_NOT_MAPPED */

/* registry.c */
int shca_claim_slot(uint32_t *slot, int (*claim)(uint32_t slot)); /* a listening socket, or -1 */
enum { SHCA_NO_SOCKET = -2 };
int shca_connect_slot(uint32_t slot);

/* rpc_server.c: the RPC thread */
int shca_rpc_server_start(int listener);
bool shca_slot_attached(uint32_t slot);
void shca_rpc_server_lock(void); /* around fork() */
void shca_rpc_server_unlock(void);
void shca_rpc_server_in_child(void);

/* thread.c */
int shca_thread(void *(*run)(void *));

#endif
