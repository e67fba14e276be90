# other/contrib: the launcher, one source for every conduit; a conduit adds the text of --help-env.
# gasnet-doctor-* is the program behind its option --doctor; it is linked statically, so that it runs
# wherever the tree is moved to.
doctordir = $(pkglibdir)
doctor_PROGRAMS =
DOCTOR_SOURCES = \
	other/contrib/doctor/doctor.h other/contrib/doctor/main.c other/contrib/doctor/findings.c \
	other/contrib/doctor/host.c other/contrib/doctor/devices.c other/contrib/doctor/job.c \
	other/contrib/doctor/report.c $(roce_sources) $(roce_table_sources)
GASNETRUN_SOURCES = \
	other/contrib/gasnetrun/doctor.c other/contrib/gasnetrun/doctor.h \
	other/contrib/gasnetrun/gasnetrun.c \
	other/contrib/gasnetrun/mpirun.c other/contrib/gasnetrun/mpirun.h \
	other/contrib/gasnetrun/options.c other/contrib/gasnetrun/options.h \
	other/contrib/gasnetrun/program.c other/contrib/gasnetrun/program.h
