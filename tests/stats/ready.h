/* ready.h - how a program of this folder and its script wait for each other (running.sh). */
#ifndef TEST_STATS_READY_H
#define TEST_STATS_READY_H

#include <gasnet.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* True when the script lets the job go on: FOLDER/go is there. */
static bool go(const char *folder)
{
    char name[512];
    struct stat st;
    snprintf(name, sizeof name, "%s/go", folder);
    return stat(name, &st) == 0;
}

/* Makes FOLDER/ready.RANK, with the process id in it. */
static void say_ready(const char *folder)
{
    char name[512], final[512];
    snprintf(name, sizeof name, "%s/new.%d", folder, (int)gasnet_mynode());
    snprintf(final, sizeof final, "%s/ready.%d", folder, (int)gasnet_mynode());
    FILE *file = fopen(name, "w");
    if (!file || fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file) || rename(name, final))
        gasnet_exit(3);
}

#endif
