/* ssh_wire.h - what the ssh spawner's processes say to each other, as bytes.
 *
 * Pure: bytes in, checked message out (and back); no I/O, no globals.  Ranks, launcher and remote
 * control processes all use it, so every length and count that arrives is proved here, once.
 *
 * A message travels as one or more frames of at most SSH_WIRE_PAYLOAD bytes.  Between a rank and
 * its parent each frame is one packet of a SOCK_SEQPACKET socket, hence atomic: a signal handler
 * may slip an ABORT between the frames of a long message without tearing it.
 */
#ifndef SSH_WIRE_H
#define SSH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SSH_WIRE_VERSION = 7,
    SSH_WIRE_HEADER = 12,
    SSH_WIRE_PAYLOAD = 32768,
    SSH_WIRE_FRAME = SSH_WIRE_HEADER + SSH_WIRE_PAYLOAD,
    SSH_WIRE_MESSAGE = 1 << 29, /* most a message may hold; more is taken for garbage */
    SSH_WIRE_SECRET = 32,       /* hexadecimal digits */
    SSH_WIRE_RANKS = 1 << 24,   /* most ranks a message may claim */
    SSH_WIRE_HOSTS = 65535,     /* most hosts */
};

/* "Every rank behind this link", where a rank is expected. */
static const uint32_t SSH_WIRE_ALL = UINT32_MAX;

enum ssh_wire_type {
    SSH_WIRE_HELLO = 1,   /* rank: here I am; value = process id */
    SSH_WIRE_ARMED,       /* rank: I handle orders to end myself; value = 0 */
    SSH_WIRE_COLLECTIVE,  /* rank: my part of a collective call */
    SSH_WIRE_FINI,        /* rank: I leave as part of an orderly end; value = exit code */
    SSH_WIRE_ABORT,       /* rank: end the job now; value = exit code */
    SSH_WIRE_EXEC_FAILED, /* rank: the program could not be executed; value = errno */
    SSH_WIRE_ANSWER,      /* rank: text that was asked for, in parts; value = question */
    SSH_WIRE_COMPLAINT,   /* rank: why it is about to abort, for people */
    SSH_WIRE_LEAVING,     /* rank: I want to end; value: see ssh_wire_leaving */
    SSH_WIRE_WELCOME,     /* to rank: size, hosts, environment */
    SSH_WIRE_RESULT,      /* to rank: outcome of a collective call */
    SSH_WIRE_DIE,         /* to rank: the job ends; value = exit code */
    SSH_WIRE_NOTED,       /* to rank: the launcher knows that it wants to end; value = 0 */
    SSH_WIRE_LEAVE,       /* to rank: others want to end, end as well; value = exit code */
    SSH_WIRE_TOGETHER,    /* to rank: all want to end, now do; value = exit code of the job */
    SSH_WIRE_ASK,         /* to rank: somebody wants to know; value = question */
    SSH_WIRE_JOIN,        /* control process: here I am, and this is the secret */
    SSH_WIRE_ENDED,       /* control process: a rank ended; value = wait status */
    SSH_WIRE_SILENT,      /* control process: a rank closed its connection; value = 0 */
    SSH_WIRE_SHELL,       /* control process: a remote shell of its ended; slot, ssh_wire_shell() */
    SSH_WIRE_START,       /* to control process: start the control process of another host */
    SSH_WIRE_SETUP,       /* to control process: what to start */
    SSH_WIRE_SIGNAL,      /* to control process: signal a rank, or all; value = signal number */
    SSH_WIRE_ECHO,        /* to control process, and back: are you there? value = 0 */
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
    bool more; /* the message goes on in the next frame of this type from this rank */
    uint32_t rank;
    const uint8_t *data; /* inside the bytes parsed */
    size_t len;
};

/* Appends a message, cut into frames. */
void ssh_wire_put_message(struct ssh_wire_buf *out, enum ssh_wire_type type, uint32_t rank,
                          const void *data, size_t len);
/* The same for messages that are one number, without memory: fills `out`, returns its length.
 * Async-signal-safe. */
enum { SSH_WIRE_VALUE_FRAME = SSH_WIRE_HEADER + 4 };
size_t ssh_wire_value_frame(uint8_t out[SSH_WIRE_VALUE_FRAME], enum ssh_wire_type type,
                            uint32_t rank, uint32_t value);

/* The second value of a SHELL: how the process ended, and an enum ssh_shell_key. */
static inline uint32_t ssh_wire_shell(int wait_status, int key)
{
    return ((uint32_t)wait_status & 0xffff) | (uint32_t)key << 16;
}

/* The value of a LEAVING: the exit code, and how long the launcher may take to have all leave. */
static inline uint32_t ssh_wire_leaving(uint32_t code, double seconds)
{
    const double most = (1 << 24) - 1, hundredths = seconds * 100;
    return (code & 0xff) | (uint32_t)(hundredths < most ? hundredths : most) << 8;
}

static inline double ssh_wire_leaving_seconds(uint32_t value)
{
    return (value >> 8) / 100.0;
}

/* Length of the frame that starts at `bytes` (bytes consumed), 0 when it is not there in full,
 * -1 when these bytes are no frame (*why says so). */
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
    uint32_t seq; /* of a RESULT; of an ANSWER: not 0 if this is its last part */
    struct {
        uint32_t slot;
        const char *secret; /* SSH_WIRE_SECRET bytes */
    } join;
    struct {
        uint32_t first, count, stride, size, argc, envc;
        uint32_t below; /* START messages to come */
        /* In `data`: 2 + argc + envc strings: directory, executable, arguments, environment */
    } setup;
    struct {
        uint32_t slot, argc;
        /* In `data`: argc strings, the command of the remote shell */
    } start;
    const uint8_t *data; /* the rest: contribution, result, environment block, strings */
    size_t data_len;
};

/* The frames of one rank's long message, gathered so far. */
struct ssh_wire_assembly {
    struct ssh_wire_buf buf;
    uint32_t rank;
    enum ssh_wire_type type; /* 0: none under way */
    bool done;               /* buf holds a message that was handed out */
};

/* Takes one frame.  1: *message is complete (valid until the next call); 0: more frames to come;
 * -1: nonsense, *why says so. */
int ssh_wire_assemble(struct ssh_wire_assembly *assembly, const struct ssh_wire_frame *frame,
                      struct ssh_wire_message *message, const char **why);

/* Decodes a message's whole payload; false: nonsense, *why says so. */
bool ssh_wire_decode(enum ssh_wire_type type, uint32_t rank, const uint8_t *data, size_t len,
                     struct ssh_wire_message *message, const char **why);

/* Number of NUL-terminated strings that fill `data` exactly, or -1 if the last has no end. */
ssize_t ssh_wire_strings(const uint8_t *data, size_t len);

#endif
