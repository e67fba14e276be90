/* ssh_wire.h - the messages of the ssh spawner's processes, as bytes.
 *
 * Pure: no I/O, no globals.  Ranks, launcher and control processes use it, so that every length
 * and count received is checked here, once.
 *
 * A message is one or more frames of at most SSH_WIRE_PAYLOAD bytes.  Between a rank and its
 * parent each frame is one packet of a SOCK_SEQPACKET socket, hence atomic: a signal handler may
 * send an ABORT between the frames of a long message.
 */
#ifndef SSH_WIRE_H
#define SSH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SSH_WIRE_VERSION = 10,
    SSH_WIRE_HEADER = 12,
    SSH_WIRE_PAYLOAD = 32768,
    SSH_WIRE_FRAME = SSH_WIRE_HEADER + SSH_WIRE_PAYLOAD,
    SSH_WIRE_MESSAGE = 1 << 29, /* longest message accepted */
    SSH_WIRE_SECRET = 32,       /* hexadecimal digits */
    SSH_WIRE_NONCE = 32,        /* random bytes of each end */
    SSH_WIRE_PROOF_LEN = 32,    /* proof that an end knows the secret */
    SSH_WIRE_RANKS = 1 << 24,   /* most ranks a message may claim */
    SSH_WIRE_HOSTS = 65535,     /* most hosts */
};

/* The value of a rank that means all ranks behind this stream. */
static const uint32_t SSH_WIRE_ALL = UINT32_MAX;

enum ssh_wire_type {
    SSH_WIRE_HELLO = 1,   /* rank: joins; value = process id */
    SSH_WIRE_ARMED,       /* rank: has a death function; value = 0 */
    SSH_WIRE_COLLECTIVE,  /* rank: contribution to a collective call */
    SSH_WIRE_FINI,        /* rank: exits in an orderly end; value = exit code */
    SSH_WIRE_ABORT,       /* rank: end the job now; value = exit code */
    SSH_WIRE_EXEC_FAILED, /* rank: the program could not be executed; value = errno */
    SSH_WIRE_ANSWER,      /* rank: answer to ASK, in parts; value = question */
    SSH_WIRE_COMPLAINT,   /* rank: a message for the user before it aborts */
    SSH_WIRE_LEAVING,     /* rank: asks to end; value: see ssh_wire_leaving */
    SSH_WIRE_MOVES,       /* rank: whether it gets on; value: see ssh_wire_moves */
    SSH_WIRE_WELCOME,     /* to rank: size, hosts, environment */
    SSH_WIRE_RESULT,      /* to rank: result of a collective call */
    SSH_WIRE_DIE,         /* to rank: the job ends; value = exit code */
    SSH_WIRE_NOTED,       /* to rank: its LEAVING has arrived; value = 0 */
    SSH_WIRE_LEAVE,       /* to rank: others asked to end, ask too; value = exit code */
    SSH_WIRE_TOGETHER,    /* to rank: all have asked to end; value = exit code of the job */
    SSH_WIRE_ASK,         /* to rank: --stats and the like; value: see ssh_wire_question */
    SSH_WIRE_JOIN,        /* control process: its slot, and its nonce */
    SSH_WIRE_ENDED,       /* control process: a rank ended; value = wait status */
    SSH_WIRE_SILENT, /* control process: a rank closed its connection; value = 1: it is ending */
    SSH_WIRE_SHELL, /* control process: a remote shell that it started ended; slot, ssh_wire_shell()
                     */
    SSH_WIRE_START, /* to control process: start the control process of another host */
    SSH_WIRE_SETUP, /* to control process: the ranks to start */
    SSH_WIRE_SIGNAL,    /* to control process: signal a rank, or all; value = signal number */
    SSH_WIRE_ECHO,      /* to control process, and back: sign of life; value = 0 */
    SSH_WIRE_CHALLENGE, /* to control process: nonce and proof; see ssh_meeting.h */
    SSH_WIRE_PROOF,     /* control process: the answer */
    SSH_WIRE_LOST,      /* control process: output that it could not write */
    SSH_WIRE_UNREAD,    /* control process: rank 0 did not read its input; value = bytes of that */
    SSH_WIRE_TYPES
};

enum ssh_wire_collective {
    SSH_WIRE_BARRIER,
    SSH_WIRE_EXCHANGE,
    SSH_WIRE_ALLTOALL,
    SSH_WIRE_BROADCAST,
    SSH_WIRE_COLLECTIVES
};

/* --- growing buffer; `failed` is sticky, so callers check once --- */

struct ssh_wire_buf {
    uint8_t *data;
    size_t len, cap;
    bool failed; /* out of memory */
};

void ssh_wire_put(struct ssh_wire_buf *buf, const void *data, size_t len);
void ssh_wire_put_u32(struct ssh_wire_buf *buf, uint32_t value);
void ssh_wire_put_u64(struct ssh_wire_buf *buf, uint64_t value);
void ssh_wire_put_string(struct ssh_wire_buf *buf, const char *text); /* with its NUL */
void ssh_wire_free(struct ssh_wire_buf *buf);
uint32_t ssh_wire_u32(const uint8_t *bytes);

/* --- frames --- */

struct ssh_wire_frame {
    enum ssh_wire_type type;
    bool more; /* the message continues in the next frame of this type from this rank */
    uint32_t rank;
    const uint8_t *data; /* points into the parsed bytes */
    size_t len;
};

/* Appends a message, divided into frames. */
void ssh_wire_put_message(struct ssh_wire_buf *out, enum ssh_wire_type type, uint32_t rank,
                          const void *data, size_t len);
/* Writes a message of one number to `out`, without allocation, and returns its length.
 * Async-signal-safe. */
enum { SSH_WIRE_VALUE_FRAME = SSH_WIRE_HEADER + 4 };
size_t ssh_wire_value_frame(uint8_t out[SSH_WIRE_VALUE_FRAME], enum ssh_wire_type type,
                            uint32_t rank, uint32_t value);

/* The second value of a SHELL: how the process ended, and an enum ssh_shell_key. */
static inline uint32_t ssh_wire_shell(int wait_status, int key)
{
    return ((uint32_t)wait_status & 0xffff) | (uint32_t)key << 16;
}

/* The value of a LEAVING: the exit code, and the time for the other ranks. */
static inline uint32_t ssh_wire_leaving(uint32_t code, double seconds)
{
    const double most = (1 << 24) - 1, hundredths = seconds * 100;
    return (code & 0xff) | (uint32_t)(hundredths < most ? hundredths : most) << 8;
}

static inline double ssh_wire_leaving_seconds(uint32_t value)
{
    return (value >> 8) / 100.0;
}

/* The value of an ASK: the question's number and its enum bootstrap_question. */
static inline uint32_t ssh_wire_question(uint32_t number, uint32_t what)
{
    return number << 2 | (what & 3);
}

/* The value of a MOVES: the time in which a rank has got on, or has not. */
static inline uint32_t ssh_wire_moves(bool moves, double seconds)
{
    const double most = 1 << 30, hundredths = seconds * 100;
    return (uint32_t)(hundredths < most ? hundredths : most) << 1 | moves;
}

static inline double ssh_wire_moves_seconds(uint32_t value)
{
    return (value >> 1) / 100.0;
}

/* Returns the length of the frame at `bytes`, 0 when it is incomplete, -1 when the bytes are no
 * frame (*why). */
ssize_t ssh_wire_parse_frame(const uint8_t *bytes, size_t len, struct ssh_wire_frame *frame,
                             const char **why);

/* --- messages --- */

struct ssh_wire_message {
    enum ssh_wire_type type;
    uint32_t rank;
    uint32_t value;
    struct {
        enum ssh_wire_collective kind;
        uint32_t root, seq;
        uint64_t len; /* of one block */
    } collective;
    struct {
        uint32_t size;
        const uint8_t *host_of; /* size numbers; see ssh_wire_u32 */
    } welcome;
    uint32_t seq; /* of a RESULT; of an ANSWER: not 0 in its last part */
    struct {
        uint32_t slot; /* the nonce follows */
    } join;
    struct {
        const uint8_t *nonce; /* of a CHALLENGE: SSH_WIRE_NONCE bytes */
        const uint8_t *proof; /* SSH_WIRE_PROOF_LEN bytes */
    } meeting;
    struct {
        uint32_t first, count, stride, size, argc, envc;
        uint32_t below; /* number of START messages to come */
        /* In `data`: 2 + argc + envc strings: directory, executable, arguments, environment */
    } setup;
    struct {
        uint32_t slot, argc;
        /* In `data`: argc strings, the command of the remote shell */
    } start;
    struct {
        uint32_t stream, error; /* an enum output_stream, and errno */
        uint64_t bytes;
    } lost;
    const uint8_t *data; /* the rest of the payload: contribution, result, environment, strings */
    size_t data_len;
};

/* Collects the frames of one rank's long message. */
struct ssh_wire_assembly {
    struct ssh_wire_buf buf;
    uint32_t rank;
    enum ssh_wire_type type; /* 0: none */
    bool done;               /* buf holds a complete message that was returned */
};

/* Takes one frame.  Returns 1 when *message is complete (valid until the next call), 0 when more
 * frames are needed, -1 for a wrong frame (*why). */
int ssh_wire_assemble(struct ssh_wire_assembly *assembly, const struct ssh_wire_frame *frame,
                      struct ssh_wire_message *message, const char **why);

/* Decodes a message's payload; returns false when it is malformed (*why). */
bool ssh_wire_decode(enum ssh_wire_type type, uint32_t rank, const uint8_t *data, size_t len,
                     struct ssh_wire_message *message, const char **why);

/* Returns the number of NUL-terminated strings that fill `data`, or -1 if the last is not
 * terminated. */
ssize_t ssh_wire_strings(const uint8_t *data, size_t len);

#endif
