# other/launch: the launcher, one source for every conduit; a conduit adds the text of --help-env.
# gasnet-doctor-* is the program behind its option --doctor; it is linked statically, so that it runs
# wherever the tree is moved to.
doctordir = $(pkglibdir)
doctor_PROGRAMS =
DOCTOR_SOURCES = \
	other/launch/doctor/doctor.h other/launch/doctor/main.c other/launch/doctor/findings.c \
	other/launch/doctor/host.c other/launch/doctor/devices.c other/launch/doctor/job.c \
	other/launch/doctor/report.c $(roce_sources) $(roce_table_sources)
GASNETRUN_SOURCES = \
	other/launch/gasnetrun/doctor.c \
	other/launch/gasnetrun/gasnetrun.c other/launch/gasnetrun/gasnetrun.h \
	other/launch/gasnetrun/mpirun.c \
	other/launch/gasnetrun/options.c other/launch/gasnetrun/options.h \
	other/launch/gasnetrun/program.c
