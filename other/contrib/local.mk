# other/contrib: the launcher, one source for every conduit; a conduit adds the text of --help-env
GASNETRUN_SOURCES = \
	other/contrib/gasnetrun/gasnetrun.c \
	other/contrib/gasnetrun/mpirun.c other/contrib/gasnetrun/mpirun.h \
	other/contrib/gasnetrun/options.c other/contrib/gasnetrun/options.h \
	other/contrib/gasnetrun/program.c other/contrib/gasnetrun/program.h
