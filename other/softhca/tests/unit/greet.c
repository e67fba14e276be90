/* greet.c - two processes on different hosts connect: which are accepted, which are not and
 * why; and the digests that the proofs are made of.
 */
#include "other/softhca/src/tcp/greet.h"

#include <stdio.h>
#include <string.h>

#include "other/base/sha256.h"
#include "tests/unit/check.h"

static void hex(const uint8_t *bytes, int n, char *text)
{
    for (int i = 0; i < n; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

/* Examples of FIPS 180-4 and RFC 4231. */
static void digests(void)
{
    static const struct {
        const char *text;
        unsigned times;
        const char *digest;
    } known[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    uint8_t digest[GASNETI_DIGEST], key[131];
    char text[2 * GASNETI_DIGEST + 1];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct gasneti_sha256 s;
        gasneti_sha256_start(&s);
        for (unsigned k = 0; k < known[i].times; k++)
            gasneti_sha256_add(&s, known[i].text, strlen(known[i].text));
        gasneti_sha256_end(&s, digest);
        hex(digest, GASNETI_DIGEST, text);
        check(!strcmp(text, known[i].digest), "SHA-256 of %u times \"%.20s\"", known[i].times,
              known[i].text);
    }
    gasneti_hmac("Jefe", 4, "what do ya want for nothing?", 28, digest);
    hex(digest, GASNETI_DIGEST, text);
    check(!strcmp(text, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
          "HMAC with a short key");
    memset(key, 0xaa, sizeof key);
    gasneti_hmac(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First", 54,
                 digest);
    hex(digest, GASNETI_DIGEST, text);
    check(!strcmp(text, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
          "HMAC with a long key");
}

static const struct greet_self alice = {.me = {0, 7, 111, 3}, .hosts = 5, .secret = "open sesame"},
                               bob = {.me = {1, 9, 222, 4}, .hosts = 5, .secret = "open sesame"};
static uint8_t noise[2][WIRE_NONCE];
static struct greet a, b;

/* Pass on what FROM has to say, as bytes. */
static bool pass(struct greet *from, struct greet *to, const struct greet_self *self)
{
    uint8_t header[WIRE_REQUEST_HEADER];
    struct wire_frame f;
    const char *why;
    if (from->out.type == 0) return false;
    size_t size = wire_put(&from->out, header);
    from->out.type = 0;
    bool ok = wire_parse(header, size, &f, &why) == (int)size &&
              greet_on_frame(to, self, &f, from->payload);
    check_each(ok, "frame %u is taken in state %d", f.type, to->state);
    return ok;
}

/* Until neither has anything to send; the acceptor welcomes a peer that has proven itself. */
static void meet(const struct greet_self *connector, const struct greet_self *acceptor,
                 uint32_t host, uint32_t slot)
{
    check_fill(noise, sizeof noise);
    greet_connect(&a, connector, host, slot, 3, noise[0]);
    greet_accept(&b, noise[1]);
    bool said = true;
    while (said) {
        said = pass(&a, &b, acceptor);
        if (b.state == GREET_PROVEN) greet_welcome(&b, 4);
        said |= pass(&b, &a, connector);
    }
}

static void good_meetings(void)
{
    meet(&alice, &bob, 1, 9);
    check(a.state == GREET_WELCOME && b.state == GREET_WELCOME && a.serial == 4, "both agree");
    check(a.other.nonce == 222 && b.other.nonce == 111 && a.other.number == 4 &&
              b.other.host == 0 && b.other.slot == 7,
          "each knows the identity of the other");
    check(b.hello.serial == 3, "the acceptor learns what the connector knew");
    struct greet_self plain_a = alice, plain_b = bob;
    plain_a.secret = plain_b.secret = NULL;
    meet(&plain_a, &plain_b, 1, 9);
    check(a.state == GREET_WELCOME && b.state == GREET_WELCOME, "without a secret as well");
}

static void refused(const char *what, const struct greet_self *connector, uint32_t host,
                    uint32_t slot, enum wire_reason reason)
{
    meet(connector, &bob, host, slot);
    check(a.state == GREET_FAILED && b.state == GREET_FAILED && a.reason == reason &&
              b.reason == reason && a.by_other != b.by_other,
          "%s: one end rejected, the other was notified", what);
}

static void refusals(void)
{
    struct greet_self other = alice;
    other.secret = "open sesamf";
    refused("another secret", &other, 1, 9, WIRE_OTHER_SECRET);
    other.secret = NULL;
    refused("a secret on one side only", &other, 1, 9, WIRE_OTHER_SECRET);
    other = alice;
    other.hosts = 6;
    refused("another list of hosts", &other, 1, 9, WIRE_OTHER_HOSTS);
    refused("another host is meant", &alice, 2, 9, WIRE_NOT_ME);
    refused("another slot is meant", &alice, 1, 8, WIRE_NOT_ME);
}

/* An attacker that does not know the secret but reads and changes all messages. */
static void forgeries(void)
{
    for (int i = 0; i < 1000; i++) {
        check_fill(noise, sizeof noise);
        greet_connect(&a, &alice, 1, 9, 3, noise[0]);
        greet_accept(&b, noise[1]);
        for (int turn = 0; turn < 4; turn++) {
            struct greet *from = turn % 2 ? &b : &a, *to = turn % 2 ? &a : &b;
            if (from->out.type == 0) break;
            if (from->out.type != WIRE_REJECT && (i & 3) == turn)
                from->payload[check_below(from->out.length)] ^= (uint8_t)(1u << check_below(8));
            struct wire_frame f = from->out;
            from->out.type = 0;
            if (!greet_on_frame(to, turn % 2 ? &alice : &bob, &f, from->payload)) break;
        }
        if ((i & 3) < 3)
            check_each(b.state != GREET_PROVEN, "a changed byte in turn %d passes", i & 3);
    }
    check_all("nothing that was changed on its way is believed");
    meet(&alice, &bob, 1, 9);
    struct wire_challenge old = b.challenge;
    uint8_t proof[WIRE_MAC];
    greet_accept(&b, noise[0]); /* a new connection, with messages of the old one */
    struct wire_frame f = {.type = WIRE_HELLO};
    uint8_t payload[WIRE_GREETING];
    f.length = wire_put_hello(&b.hello, payload);
    a.hello.version = WIRE_VERSION;
    f.length = wire_put_hello(&a.hello, payload);
    greet_on_frame(&b, &bob, &f, payload);
    memcpy(proof, old.mac, sizeof proof);
    f = (struct wire_frame){.type = WIRE_PROOF, .length = WIRE_MAC};
    greet_on_frame(&b, &bob, &f, proof);
    check(b.state == GREET_FAILED, "what the acceptor said himself is no proof");
}

static void out_of_turn(void)
{
    static const uint8_t zeros[WIRE_GREETING];
    for (int state = GREET_AWAITS_HELLO; state <= GREET_FAILED; state++)
        for (int type = WIRE_REQUEST; type < WIRE_TYPES; type++) {
            struct wire_frame f = {.type = type, .length = WIRE_GREETING, .value = 1};
            memset(&b, 0, sizeof b);
            b.state = state;
            bool taken = greet_on_frame(&b, &bob, &f, zeros);
            bool welcome = type == WIRE_WELCOME && state == GREET_AWAITS_WELCOME;
            check_each(!taken || welcome || b.state == GREET_FAILED, "type %d in state %d", type,
                       state);
        }
    check_all("no frame has an effect out of turn");
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    digests();
    good_meetings();
    refusals();
    forgeries();
    out_of_turn();
    return check_end();
}
