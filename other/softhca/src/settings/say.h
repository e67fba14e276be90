/* say.h - messages of this library to the user, one line each. */
#ifndef SOFTHCA_SAY_H
#define SOFTHCA_SAY_H

#define SHCA_EXPORT __attribute__((visibility("default")))

void shca_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The cause of later failures with a peer: a program that calls softhca_trouble() reads it there,
 * and it is not printed. */
void shca_say_of_peer(const char *format, ...) __attribute__((format(printf, 1, 2)));
void shca_trouble_in_child(void);

#endif
