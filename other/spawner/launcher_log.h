/* launcher_log.h - messages of the launcher: lines on stderr that begin with its name. */
#ifndef LAUNCHER_LOG_H
#define LAUNCHER_LOG_H

void launcher_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
