/* log.h - lines about what the library does, for users who ask for them: GASNET_LOG.
 *
 * Used by the core, the Extended API and the networks, off the hot paths.  A line that is not asked
 * for costs a comparison.  Errors and warnings are report.h's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The components, and what their lines tell. */
#define GASNETI_LOG_COMPONENTS(COMPONENT)                                                          \
    COMPONENT(job)     /* the start of the job, attach, endpoints and their segments */            \
    COMPONENT(network) /* devices, ports, limits */                                                \
    COMPONENT(connect) /* connections to peers */                                                  \
    COMPONENT(memory)  /* registrations, and the cache of them */                                  \
    COMPONENT(shm)     /* memory that ranks share, and rings of messages in it */                  \
    COMPONENT(coll)    /* teams, and how collectives are carried out */                            \
    COMPONENT(exit)    /* the end of the job */

enum gasneti_log_component {
#define GASNETI_LOG_NUMBER(name) GASNETI_LOG_##name,
    GASNETI_LOG_COMPONENTS(GASNETI_LOG_NUMBER)
#undef GASNETI_LOG_NUMBER
        GASNETI_LOG_COUNT
};

/* In the order of words of GASNET_LOG. */
enum gasneti_log_level { GASNETI_LOG_ERROR, GASNETI_LOG_WARN, GASNETI_LOG_INFO, GASNETI_LOG_DEBUG };

typedef struct gasneti_log_levels {
    uint8_t of[GASNETI_LOG_COUNT]; /* enum gasneti_log_level */
    uint8_t general;               /* of what has no component: warnings */
} gasneti_log_levels_t;

/* Pure: reads the value of GASNET_LOG, "LEVEL", "COMPONENT:LEVEL" or several of them between
 * commas, of which the later ones count.  False, with the fault in `why`, if it is malformed. */
bool gasneti_log_parse(const char *text, gasneti_log_levels_t *levels, char *why, size_t size);
bool gasneti_log_check(const char *text, char *why, size_t size); /* the same, and stores nothing */

#pragma GCC visibility push(hidden)
extern gasneti_log_levels_t gasneti_log_levels;
#pragma GCC visibility pop

/* Called when the parameters are known; before, nothing but warnings is written. */
void gasneti_log_init(void);

/* Writes one line, with the time (UTC), the rank, the host and the component in front.
 * Async-signal-safe as far as snprintf is: an exit may run in a signal handler. */
void gasneti_log_line(enum gasneti_log_component component, enum gasneti_log_level level,
                      const char *format, ...) __attribute__((format(printf, 3, 4), cold));

/* gasneti_info(component, format, ...): what happens once, or seldom: a user reads all of it.
 * gasneti_debug(component, format, ...): each step. */
#define gasneti_info(component, ...)  GASNETI_LOG(component, GASNETI_LOG_INFO, __VA_ARGS__)
#define gasneti_debug(component, ...) GASNETI_LOG(component, GASNETI_LOG_DEBUG, __VA_ARGS__)
#define GASNETI_LOG(component, level, ...)                                                         \
    (gasneti_log_levels.of[GASNETI_LOG_##component] < (level)                                      \
         ? (void)0                                                                                 \
         : gasneti_log_line(GASNETI_LOG_##component, level, __VA_ARGS__))
