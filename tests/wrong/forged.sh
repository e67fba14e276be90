#!/bin/bash
# forged.sh - messages to handlers of the library's own: a client cannot send one, by any index or call, and what a
# broken peer sends ends the job with a line that names it, in release and in debug builds.  In debug builds so does a
# message to a client's handler that is not registered for its kind.  TEST_CONDUIT (ibv), TEST_MODES (seq).
# family: wrong-forged
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../tap.sh" || exit 1
. "$(dirname "$0")/../variant.sh" || exit 1
. "$(dirname "$0")/cases.sh" || exit 1
# shellcheck disable=SC2034 # cases.sh reads them
modes=${TEST_MODES:-seq}

# Case, in what builds, and the words of the message.
no_operation='a Reply from rank 1 .*fits no operation of this rank: bad'
own='a malformed Active Message from rank 1 .*for the library.s own handler'
no_atomic='rank 1 .*asks for the atomic operation'
outside='rank 1 asks for an? .* outside this rank.s segment'
pair='an Active Message from rank 1 .*for handler 255 .pair.: it is a'
collective='a malformed message of a collective operation from rank 1 .*bad'
# shellcheck disable=SC2034
cases="unregistered|all|an Active Message from rank 1 .*names handler 60, which is not registered here
zero|release|names handler 0, which is not registered here
done_request|all|$own 66: it is a Short Request with 2 arguments and should be a Short Reply with 2 arguments
done_reply|all|$no_operation number
done_reply_1|release|$no_operation number
done_reply_3|release|$own 66: it is a Short Reply with 3 arguments
memset_5|all|$own 65: it is a Short Request with 5 arguments and should be a Short Request with 6 arguments
memset_7|release|$own 65
memset_medium|release|$own 65: it is a Medium Request
memset_reply|release|$own 65: it is a Short Reply
memset_outside|all|$outside
memset_across|release|$outside
memset_much|release|$outside
vis_put_data|release|a message of rank 1 for a vector, indexed or strided transfer of 65 bytes
vis_put_negative|release|does not describe pieces of as many bytes
vis_put_short|release|$own 73
vis_get_much|release|a message of rank 1 for a vector, indexed or strided transfer of 4294967295 bytes
vis_got_request|release|$own 75: it is a Medium Request with 2 arguments and should be a Medium Reply
vis_there_index|release|asks for handler index 65 behind a put
vis_there_none|release|names handler 250, which is not registered here
vis_got_reply|all|$no_operation number
atomic_outside|all|$outside
atomic_across|release|$outside
atomic_askew|all|$no_atomic 0x52 at
atomic_type|release|$no_atomic 0xd2 at
atomic_op|release|$no_atomic 0x4c at
atomic_much|release|$no_atomic 0xffffffff at
atomic_9|release|$own 76: it is a Short Request with 9 arguments
atomic_got_reply|all|$no_operation number
barrier_garbage|release|rank 1 sent an invalid barrier message
barrier_step|all|rank 1 sent an invalid barrier message
team_barrier_garbage|release|rank 1 sent an invalid barrier message
barrier_2|release|$own 64: it is a Short Request with 2 arguments and should be a Short Request with 3 arguments
whole_none|all|$collective team
whole_short|release|$own 80
ready_outside|release|$collective address .outside the segment
ready_none|release|$collective team
piece_none|release|$collective operation or tag
long_none|release|$collective operation or tag
offer_none|release|$collective operation or tag
ack_request|release|$own 85
ack_reply|release|$collective operation or tag
pair_1|debug|$pair Short Request with 1 arguments, and the handler is registered for Short Requests with 2 arguments
pair_3|debug|$pair Short Request with 3 arguments
pair_medium|debug|$pair Medium Request with 2 arguments
pair_reply|debug|$pair Short Reply with 2 arguments
pair_self|debug|$pair Short Request with 1 arguments
lone_request|debug|for handler 254: it is a Medium Request with 1 arguments, and the handler is registered for Medium and Long Replies with 1 arguments
fetched_none|release|$collective operation or tag
client_reply|all|an Active Message Reply to rank 0 names handler 66, but a client.s handlers have the indices 128 to 255"

"$TEST_BUILD/tests/wrong/forged-$TEST_CONDUIT-seq" indices >"$TEST_LOG/forged_indices.log" 2>&1
tap_ok $? "every Request with an index below 128 is refused at the sender"
wrong_cases forged
tap_end
