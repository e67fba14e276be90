/* misuse.c - wrong arguments and orders that a debug library finds, each with its words. */
#include <time.h>

#include "legal.h"

/* --- wrong arguments and orders, in the plain client code of P2 --- */

static void destroy_held(void)
{
    gasnet_hsl_lock(&lock);
    gasnet_hsl_destroy(&lock);
}
static void init_static(void)
{
    gasnet_hsl_init(&lock);
}
static void init_held(void)
{
    static gasnet_hsl_t held;
    gasnet_hsl_init(&held);
    gasnet_hsl_lock(&held);
    gasnet_hsl_init(&held);
}
static void lock_destroyed(void)
{
    gasnet_hsl_destroy(&lock);
    gasnet_hsl_lock(&lock);
}
static void lock_own(void)
{
    gasnet_hsl_lock(&lock);
    gasnet_hsl_lock(&lock);
}
static void trylock_own(void)
{
    gasnet_hsl_lock(&lock);
    (void)gasnet_hsl_trylock(&lock);
}
static void unlock_out_of_order(void)
{
    static gasnet_hsl_t second = GASNET_HSL_INITIALIZER;
    gasnet_hsl_lock(&lock);
    gasnet_hsl_lock(&second);
    gasnet_hsl_unlock(&lock);
}
static void hold_twice(void)
{
    gasnet_hold_interrupts();
    gasnet_hold_interrupts();
}
static void put_outside(void)
{
    gasnet_put(0, word, mine, 8);
}
static void put_across_the_end(void)
{
    gasnet_put_nb_bulk(0, mine + SEGMENT - 4, word, 8) == GASNET_INVALID_HANDLE ? (void)0 : (void)1;
}
static void get_outside(void)
{
    gasnet_get_nbi(mine, 0, word, 8);
}
static void fill_outside(void)
{
    gasnet_memset(0, word, 0, 8);
}
static void value_outside(void)
{
    gasnet_put_val(0, word, 0, 8);
}
static void value_get_outside(void)
{
    (void)gasnet_get_val(0, word, 8);
}
static void put_to_nobody(void)
{
    gasnet_put(1, mine, word, 8);
}
static void request_to_nobody(void)
{
    gasnet_AMRequestShort0(1, H_NOTHING);
}
static void barrier_flags(void)
{
    gasnet_barrier_notify(0, 0x40);
}
static void barrier_private_bit(void)
{
    (void)gasnet_barrier(0, GASNET_BARRIERFLAG_UNNAMED & ~GASNET_BARRIERFLAG_ANONYMOUS);
}
static void wait_flags(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_UNNAMED);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_UNNAMED | 0x100);
}
static void notify_twice(void)
{
    gasnet_barrier_notify(0, 0);
    gasnet_barrier_notify(0, 0);
}
static void handle_garbage(void)
{
    gasnet_wait_syncnb((gasnet_handle_t)(uintptr_t)0x12345678);
}
static void handle_in_list(void)
{
    gasnet_handle_t list[] = {GASNET_INVALID_HANDLE, (gasnet_handle_t)(void *)word};
    (void)gasnet_try_syncnb_all(list, 2);
}
static void handle_list_null(void)
{
    gasnet_wait_syncnb_some(NULL, 2);
}
static void handle_list_null_try(void)
{
    (void)gasnet_try_syncnb_all(NULL, 2);
}
static void value_handle_null(void)
{
    (void)gasnet_wait_syncnb_valget((gasnet_valget_handle_t)0);
}
static void value_handle_garbage(void)
{
    (void)gasnet_wait_syncnb_valget((gasnet_valget_handle_t)(uintptr_t)word);
}
static void value_handle_twice(void)
{
    gasnet_valget_handle_t handle = gasnet_get_nb_val(0, mine, 8);
    (void)gasnet_wait_syncnb_valget(handle);
    (void)gasnet_wait_syncnb_valget(handle);
}
static void token_null(void)
{
    gasnet_AMReplyShort0(NULL, H_NOTHING);
}
static void source_garbage(void)
{
    gasnet_node_t from;
    gasnet_AMGetMsgSource((gasnet_token_t)(void *)word, &from);
}
static gasnet_token_t stale;
static void token_stale(void)
{
    gasnet_AMRequestShort1(0, H_WRONG, 0);
    gasnet_AMReplyShort0(stale, H_NOTHING);
}
static void handler_wrong(gasnet_handlerarg_t how)
{
    gasnet_AMRequestShort1(0, H_WRONG, how);
}
static void token_garbage(void)
{
    handler_wrong(1);
}
static void token_null_in_handler(void)
{
    handler_wrong(2);
}
static void reply_locked(void)
{
    handler_wrong(3);
}
static void return_locked(void)
{
    handler_wrong(4);
}
static void reply_twice(void)
{
    handler_wrong(5);
}
#ifdef GASNET_PAR
void in_thread(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, arg)) abort();
    pthread_join(thread, NULL);
}
static void *reply_with(void *given)
{
    gasnet_AMReplyShort0(given, H_NOTHING);
    return NULL;
}
static void token_of_other_thread(void)
{
    handler_wrong(6);
}
static void *unlock_it(void *unused)
{
    gasnet_hsl_unlock(&lock);
    return unused;
}
static void unlock_in_other_thread(void)
{
    gasnet_hsl_lock(&lock);
    in_thread(unlock_it, NULL);
}
#endif

const struct wrong wrongs[] = {
    {"destroy_held", destroy_held, "gasnet_hsl_destroy of a lock that is held"},
    {"init_static", init_static, "that GASNET_HSL_INITIALIZER has initialised"},
    {"init_held", init_held, "that is held"},
    {"lock_destroyed", lock_destroyed, "not initialised, or was destroyed"},
    {"lock_own", lock_own, "gasnet_hsl_lock of a lock that this thread holds"},
    {"trylock_own", trylock_own, "gasnet_hsl_trylock of a lock that this thread holds"},
    {"unlock_out_of_order", unlock_out_of_order, "out of order"},
    {"hold_twice", hold_twice, "called twice"},
    {"put_outside", put_outside, "gasnet_put of 8 bytes at .* is outside the segment"},
    {"put_across_the_end", put_across_the_end, "gasnet_put_nb_bulk of 8 bytes .* outside"},
    {"get_outside", get_outside, "gasnet_get_nbi of 8 bytes at .* is outside the segment"},
    {"fill_outside", fill_outside, "gasnet_memset of 8 bytes at .* is outside the segment"},
    {"value_outside", value_outside, "gasnet_put_val of 8 bytes at .* is outside the segment"},
    {"value_get_outside", value_get_outside, "gasnet_get_val of 8 bytes at .* is outside"},
    {"put_to_nobody", put_to_nobody, "gasnet_put names (node|rank) 1"},
    {"request_to_nobody", request_to_nobody, "Active Message.* rank 1"},
    {"barrier_flags", barrier_flags, "gasnet_barrier_notify is given .* 0x40 is unknown"},
    {"barrier_private_bit", barrier_private_bit, "gasnet_barrier is given .* 0x8 is unknown"},
    {"wait_flags", wait_flags, "gasnet_barrier_wait is given .* 0x100 is unknown"},
    {"notify_twice", notify_twice, "called twice without"},
    {"handle_garbage", handle_garbage, "0x12345678 is synchronised as a handle"},
    {"handle_in_list", handle_in_list, "is synchronised as a handle, and no call has returned"},
    {"handle_list_null", handle_list_null, "gasnet_wait_syncnb_some is given a NULL list"},
    {"handle_list_null_try", handle_list_null_try, "gasnet_try_syncnb_all is given a NULL list"},
    {"value_handle_null", value_handle_null, "is synchronised as a handle"},
    {"value_handle_garbage", value_handle_garbage, "is synchronised as a handle"},
    {"value_handle_twice", value_handle_twice, "is not live"},
    {"token_null", token_null, "is called outside a handler"},
    {"source_garbage", source_garbage, "gasnet_AMGetMsgSource is called outside a handler"},
    {"token_stale", token_stale, "is called outside a handler"},
    {"token_garbage", token_garbage, "that of the running handler is"},
    {"token_null_in_handler", token_null_in_handler, "that of the running handler is"},
    {"reply_locked", reply_locked, "a handler replies with a handler-safe lock held"},
    {"return_locked", return_locked, "a handler returns with a handler-safe lock held"},
    {"reply_twice", reply_twice, "its second Reply"},
#ifdef GASNET_PAR
    {"token_of_other_thread", token_of_other_thread, "is called outside a handler"},
    {"unlock_in_other_thread", unlock_in_other_thread, "that this thread does not hold"},
#endif
};
const int wrong_count = TEST_COUNT(wrongs);

void on_wrong(gasnet_token_t t, gasnet_handlerarg_t how)
{
    stale = t;
    switch (how) {
    case 1:
        gasnet_AMReplyShort0((gasnet_token_t)(void *)word, H_NOTHING);
        break;
    case 2:
        gasnet_AMReplyShort0(NULL, H_NOTHING);
        break;
    case 3:
        gasnet_hsl_lock(&lock);
        gasnet_AMReplyShort0(t, H_NOTHING);
        break;
    case 4:
        gasnet_hsl_lock(&lock);
        break;
    case 5:
        gasnet_AMReplyShort0(t, H_NOTHING);
        gasnet_AMReplyShort0(t, H_NOTHING);
        break;
#ifdef GASNET_PAR
    case 6:
        in_thread(reply_with, t);
        break;
#endif
    }
}

/* Held for too long, which is reported at the end. */
void warned_of(void)
{
    const struct timespec moment = {.tv_sec = 1, .tv_nsec = 100 * 1000000};
    static gasnet_hsl_t again;
    gasnet_hold_interrupts();
    gasnet_hsl_lock(&lock);
    nanosleep(&moment, NULL);
    gasnet_hsl_unlock(&lock);
    gasnet_resume_interrupts();
    gasnet_hsl_init(&again);
    gasnet_hsl_init(&again);
}
