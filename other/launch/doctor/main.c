/* main.c - the program behind gasnetrun --doctor; see doctor.h. */
#include <gasnet.h>
#include <stdio.h>
#include <string.h>

#include "other/launch/doctor/doctor.h"

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    if (!strcmp(part, "--host")) {
        doctor_host();
        doctor_devices();
        return doctor_end_print(); /* the report counts the lines */
    }
    if (!strcmp(part, "--start")) {
        if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
        gasnet_exit(0);
    }
    if (!strcmp(part, "--job")) doctor_job(argc, argv);
    if (argc > 2 && !strcmp(part, "--report"))
        return doctor_report(argv[0], argv[2], argv + 3, (size_t)(argc - 3));
    fputs("This program is started by gasnetrun --doctor.\n", stderr);
    return 1;
}
