/* launcher_log.h - messages of the launcher: lines on stderr that begin with its name. */
#ifndef LAUNCHER_LOG_H
#define LAUNCHER_LOG_H

/* At the end of a command that printed on stdout: 0, or 1 with a message if not all was written. */
int launcher_end_print(void);

/* Shows a line without its end on standard error, in place of the one before; NULL erases it, as
 * launcher_log does. */
void launcher_progress(const char *text);

void launcher_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
