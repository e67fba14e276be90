/* registry.c - loading and unloading of the provider by libdat2, and the lines of the registry file
 * for its IAs.
 *
 * libdat2 calls dat_provider_init once for each line of the file whose IA a program opens, and
 * dat_provider_fini after the last close of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

/* The names that libdat2 looks up; its header has their types alone.  */
__attribute__((visibility("default"))) void dat_provider_init(const DAT_PROVIDER_INFO *info,
                                                              const char *parameters);
__attribute__((visibility("default"))) void dat_provider_fini(const DAT_PROVIDER_INFO *info);

struct line {
    struct line *next;
    DAT_PROVIDER_INFO info;
    DAT_PROVIDER table;
    char parameters[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct line *lines;

static bool same_line(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
    return strcmp(a->ia_name, b->ia_name) == 0 && a->dapl_version_major == b->dapl_version_major &&
           a->dapl_version_minor == b->dapl_version_minor && a->is_thread_safe == b->is_thread_safe;
}

/* Takes the line of an IA from the list; NULL: the list has none. */
static struct line *take_line(const DAT_PROVIDER_INFO *info, bool *last)
{
    struct line *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct line **at = &lines; *at && !found; at = found ? at : &(*at)->next)
        if (same_line(&(*at)->info, info)) {
            found = *at;
            *at = found->next;
        }
    *last = !lines;
    pthread_mutex_unlock(&lock);
    return found;
}

static void add_line(const DAT_PROVIDER_INFO *info, const char *parameters)
{
    bool last;
    struct line *line = malloc(sizeof *line + strlen(parameters) + 1);
    if (!line) {
        udapl_complain(info->ia_name, "no memory for its line in dat.conf");
        return;
    }
    line->info = *info;
    strcpy(line->parameters, parameters);
    line->table = udapl_calls;
    line->table.device_name = line->info.ia_name;
    pthread_mutex_lock(&lock);
    line->next = lines;
    lines = line;
    pthread_mutex_unlock(&lock);
    if (dat_registry_add_provider(&line->table, info) == DAT_SUCCESS) return;
    udapl_complain(info->ia_name, "libdat2 does not register it; its name must be in one line of "
                                  "dat.conf alone");
    free(take_line(info, &last));
}

/* Version 2.0 of the interface alone: in others the table has other calls.  */
void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *parameters)
{
    if (info->dapl_version_major != 2 || info->dapl_version_minor != 0)
        udapl_complain(info->ia_name, "its line in dat.conf must name version u2.0");
    else if (info->is_thread_safe)
        udapl_complain(info->ia_name,
                       "its line in dat.conf must say nonthreadsafe, because posting "
                       "to one endpoint from several threads is not supported");
    else
        add_line(info, parameters);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
    bool last;
    struct line *found = take_line(info, &last);
    if (!found) return;
    dat_registry_remove_provider(&found->table, info);
    free(found);
    if (last) udapl_objects_unload();
}

/* With the lock.  */
static struct line *line_of(const char *ia_name)
{
    struct line *line = lines;
    while (line && strcmp(line->info.ia_name, ia_name) != 0) line = line->next;
    return line;
}

const DAT_PROVIDER *udapl_registered_table(const char *ia_name)
{
    pthread_mutex_lock(&lock);
    const struct line *line = line_of(ia_name);
    pthread_mutex_unlock(&lock);
    return line ? &line->table : NULL;
}

bool udapl_registered_port(const char *ia_name, char device[static UDAPL_DEVICE_NAME], int *port)
{
    bool valid = false;
    pthread_mutex_lock(&lock);
    const struct line *line = line_of(ia_name);
    if (line) {
        int end = 0;
        valid = sscanf(line->parameters, " %63s %d %n", device, port, &end) == 2 &&
                line->parameters[end] == '\0' && *port > 0 && *port < 256;
    }
    pthread_mutex_unlock(&lock);
    return valid;
}

void udapl_complain(const char *ia_name, const char *trouble)
{
    fprintf(stderr, "dapl: interface adapter %s: %s\n", ia_name, trouble);
}
