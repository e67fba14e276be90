/* key_file.h - the key of a user's Portals programs: a file that only the user can read.
 *
 * PTL_KEYFILE names the file; without that it is portals/key in the folder $XDG_CONFIG_HOME or, if
 * that is not set, ~/.config. A missing file is created with a random key; processes that do so at
 * once agree on one key. Programs that run for another user than their caller (set-user-ID) do not
 * obey these variables.
 */
#ifndef PTLI_KEY_FILE_H
#define PTLI_KEY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "other/connect/handshake/seal.h"

/* `setting`: PTL_KEYFILE, "" if it is not set.  False: `why` says which file is unusable, and what
 * helps. */
bool ptli_key_file_read(const char *setting, handshake_key_t *key, char *why, size_t size);

#endif
