# other/base: what all parts share.
# Without a public name, and pure but for memory_limits.c and mapped.c: absorbed by libsofthca, libportals and the launchers as well.
noinst_LTLIBRARIES += other/base/libenv_table.la
other_base_libenv_table_la_SOURCES = other/base/env_table.h other/base/environment.h other/base/env_table.c \
  other/base/edit_distance.h other/base/numbers.h other/base/numbers.c \
  other/base/memory_limits.h other/base/memory_limits.c other/base/mapped.h other/base/mapped.c other/base/sha256.h other/base/sha256.c \
  other/base/mutual_proof.h other/base/mutual_proof.c
EXTRA_DIST += other/base/def_table.sh other/base/env_table.sh
