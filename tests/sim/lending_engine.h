/* lending_engine.h - the engine of lent credits, portals-conduit/credits.c, for many nodes in turn.
 *
 * Each call enters one node: the engine's variables, which are those of one process, get its state,
 * and afterwards the node has it again.  A node keeps a loan for each peer that it has met; the
 * others have their first loan.
 */
#ifndef SIM_LENDING_ENGINE_H
#define SIM_LENDING_ENGINE_H

#include "portals-conduit/lending.h"

/* A job of `nodes`, each of which lends `each` credits to every other at first. */
void engine_begin(uint32_t nodes, uint16_t each);

/* Of node `me`.  A Request to a peer: false if credits are missing, and *short_of says how many. */
bool engine_take(uint32_t me, uint32_t peer, unsigned cost, unsigned *short_of, uint8_t *byte);
/* A Request or a Reply of a peer has arrived. */
bool engine_valid(uint32_t me, uint32_t peer, uint8_t byte);
uint8_t engine_answer(uint32_t me, uint32_t peer, uint8_t byte);
bool engine_replied(uint32_t me, uint32_t peer, uint8_t byte);
/* A system message has. */
void engine_hear(uint32_t me, uint32_t peer, bool revoke, uint32_t word);

/* --- the engine's state, for the simulation --- */

gasnetc_lending_t *engine_lending(uint32_t node);
/* The loan of `node` to `peer`; NULL unless they have met, or meet now. */
gasnetc_loan_t *engine_loan(uint32_t node, uint32_t peer, bool meet);
/* The engine sends BITS_REVOKE, or BITS_RETURN, within a call: the node's loans are not to be
 * looked at. */
void engine_sends(uint32_t from, uint32_t to, bool revoke, uint32_t word);

#endif
