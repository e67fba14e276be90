/* job_hosts.c - the hosts of a job as the program knows them: put into the environment of this
 * process, before settings_read.c reads the settings there.
 */
#include <stdlib.h>

#include "other/base/environment.h"
#include "other/softhca/include/softhca.h"

__attribute__((visibility("default"))) int softhca_hosts(const char *hosts, const char *secret,
                                                         const char *(*user_value)(const char *))
{
    static const char *const names[] = {"SOFTHCA_HOSTS", "SOFTHCA_SECRET"};
    for (int i = 0; i < 2; i++) {
        const char *value = user_value(names[i]);
        if (value && *value) setenv(names[i], value, 0);
    }
    /* A list that the user has set to nothing stands too. */
    const int is_used = *hosts && !user_value(names[0]);
    if (is_used) setenv(names[0], hosts, 1);
    const char *list = gasneti_variable(names[0]);
    if (list && *list) setenv(names[1], secret, 0); /* of the user's list too */
    return is_used;
}
