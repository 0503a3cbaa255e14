/* Who gets the room of a packet (docs/cbp.md, "Scheduling"). */
#include "cbp_core.h"

#define CREDIT_FRAME 12
#define PONG_FRAME 16
#define GOAWAY_FRAME 9
#define LEAST_TURN 64
#define FIRST_PRIO CBP_PRIO_INTERACTIVE
#define LAST_PRIO CBP_PRIO_BULK

typedef struct {
  uint8_t *bytes;
  uint16_t used;
  uint16_t capacity;
} payload_writer;

static uint8_t *put(payload_writer *out, const cbp_frame *frame) {
  uint8_t *at = out->bytes + out->used;
  cbp_put_frame(at, frame);
  out->used = (uint16_t)(out->used + CBP_FRAME_HEAD + frame->length);
  return at + CBP_FRAME_HEAD;
}

static uint16_t room(const payload_writer *out) { return (uint16_t)(out->capacity - out->used); }

/* GOAWAY comes behind the answer to the request that asked for it. */
static bool goaway_due(const cbp_bridge *b) {
  return b->leaving == CBP_LEAVING && cbp_endpoint_idle(&b->endpoints[0]);
}

/* Class 0. A limit is computed when it is sent, so there is never an older one in the way. */
static void control(cbp_bridge *b, payload_writer *out, uint32_t now_us) {
  for (uint8_t i = 0; i < b->board->endpoint_count; i++) {
    cbp_endpoint *ep = &b->endpoints[i];
    if (!cbp_endpoint_owes_credit(ep) || room(out) < CREDIT_FRAME) continue;
    cbp_frame frame = {.type = CBP_CREDIT, .fin = true, .ep = i, .op = 0, .length = 4};
    ep->granted = ep->consumed + ep->config->rx_window;
    cbp_put32(put(out, &frame), ep->granted);
  }
  if (b->pong_due && room(out) >= PONG_FRAME) {
    cbp_frame frame = {.type = CBP_PONG, .fin = true, .length = 8};
    uint8_t *body = put(out, &frame);
    cbp_put32(body, b->pong_token);
    cbp_put32(body + 4, now_us);
    b->pong_due = false;
  }
  if (goaway_due(b) && room(out) >= GOAWAY_FRAME) {
    cbp_frame frame = {.type = CBP_GOAWAY, .fin = true, .length = 1};
    put(out, &frame)[0] = CBP_RESET_SOFTWARE;
    b->leaving = CBP_GONE;
    b->leave_us = now_us;
  }
}

static bool waits(const cbp_bridge *b, uint8_t i, int prio) {
  return b->endpoints[i].config->prio == prio && cbp_endpoint_ready(&b->endpoints[i]);
}

static int count_ready(const cbp_bridge *b, int prio) {
  int ready = 0;
  for (uint8_t i = 0; i < b->board->endpoint_count; i++) ready += waits(b, i, prio);
  return ready;
}

static bool lower_waits(const cbp_bridge *b, int prio) {
  for (int lower = prio + 1; lower <= LAST_PRIO; lower++)
    if (count_ready(b, lower) > 0) return true;
  return false;
}

static uint16_t take_turn(cbp_endpoint *ep, payload_writer *out, uint16_t allowance) {
  uint16_t took = 0;
  while (took < allowance) {
    uint16_t length = cbp_endpoint_cut(ep, out->bytes + out->used, (uint16_t)(allowance - took));
    if (length == 0) break;
    out->used = (uint16_t)(out->used + length);
    took = (uint16_t)(took + length);
  }
  return took;
}

/* Round robin with a cursor of the class's own. An endpoint that found no room keeps the cursor. */
static void serve(cbp_bridge *b, int prio, payload_writer *out, uint16_t budget) {
  int ready = count_ready(b, prio);
  uint8_t count = b->board->endpoint_count;
  bool progress = ready > 0;
  uint16_t turn = ready > 0 ? (uint16_t)(out->capacity / ready) : 0;
  if (turn < LEAST_TURN) turn = LEAST_TURN;
  while (progress && budget > 0) {
    uint8_t start = b->cursors[prio];
    bool refused = false;
    progress = false;
    for (uint8_t step = 0; step < count; step++) {
      uint8_t i = (uint8_t)((start + step) % count);
      if (waits(b, i, prio)) {
        uint16_t took = take_turn(&b->endpoints[i], out, turn < budget ? turn : budget);
        budget = (uint16_t)(budget - took);
        progress = progress || took > 0;
        if (took == 0 && !refused) {
          refused = true;
          b->cursors[prio] = i;
        }
      }
      if (!refused) b->cursors[prio] = (uint8_t)((i + 1) % count);
    }
  }
}

uint16_t cbp_fill(cbp_bridge *b, uint8_t *payload, uint16_t capacity, uint32_t now_us) {
  payload_writer out = {payload, 0, capacity};
  uint16_t reserve = capacity / 4;
  control(b, &out, now_us);
  for (int prio = FIRST_PRIO; prio <= LAST_PRIO; prio++) {
    uint16_t left = room(&out);
    if (lower_waits(b, prio)) left = left > reserve ? (uint16_t)(left - reserve) : 0;
    serve(b, prio, &out, left);
  }
  for (int prio = FIRST_PRIO; prio <= LAST_PRIO; prio++) serve(b, prio, &out, room(&out));
  return out.used;
}

bool cbp_anything_ready(const cbp_bridge *b) {
  if (b->pong_due || goaway_due(b)) return true;
  for (uint8_t i = 0; i < b->board->endpoint_count; i++)
    if (cbp_endpoint_ready(&b->endpoints[i]) || cbp_endpoint_owes_credit(&b->endpoints[i])) return true;
  return false;
}
