/* launcher_log.h - what the launcher tells people: lines on stderr that begin with its name. */
#ifndef SAY_H
#define SAY_H

void launcher_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
