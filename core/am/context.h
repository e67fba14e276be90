/* context.h - checks of debug builds that a call is legal in its context. */
#pragma once

struct gasnetc_token;

/* Fatal, naming the call, before gasnet_attach, inside a handler, with a handler-safe lock held, in
 * a no-interrupt section, or while a payload is prepared. */
void gasnetc_check_may_communicate(const char *call);

/* gasnetc_check_may_communicate, but a call before gasnet_attach is legal. */
void gasnetc_check_client_code(const char *call);

/* From now on messages and transfers by calls of GASNet-1 are fatal. */
void gasnetc_refuse_classic(void);

/* The calling thread has prepared a payload by this call (a literal); NULL: it is committed or
 * cancelled. */
void gasnetc_note_prepared(const char *call);

/* Called before and after a handler: the handler's token is valid in between, in this thread. Fatal
 * if the handler returns with a lock held that it acquired. */
void gasnetc_handler_begins(struct gasnetc_token *token);
void gasnetc_handler_ends(const struct gasnetc_token *token);

/* Fatal unless this thread runs a handler; `token` is what the call was given. */
void gasnetc_check_in_handler(const char *call, const struct gasnetc_token *token);

/* gasnetc_check_in_handler; also fatal unless `token` is the running handler's. */
void gasnetc_check_token(const char *call, const struct gasnetc_token *token);

/* Fatal if the handler replies with a lock held that it acquired, or while a payload is prepared.
 */
void gasnetc_check_reply(const struct gasnetc_token *token);

#ifdef GASNET_DEBUG
enum { GASNETC_CHECKING = 1 };
#else
enum { GASNETC_CHECKING = 0 };
#endif
