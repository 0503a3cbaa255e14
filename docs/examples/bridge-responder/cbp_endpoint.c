/* One endpoint: its ring of requests, the answers it owes, its events (docs/cbp.md, "Messages", "Flow control", "Events"). */
#include <string.h>

#include "cbp_ring.h"

/* Set in the first byte of a frame in the request ring: it belongs to a request that is over. */
#define DEAD_BIT 0x80
#define REQ_PRELUDE 8
#define RSP_PRELUDE 4
#define EVENT_PRELUDE 8
/* Before the host has granted more. */
#define FIRST_EVENT_CREDIT 4096
/* A deadline beyond this would not fit the clock's half range. */
#define LONGEST_DEADLINE_MS 2000000u
/* In the event queue: time, lost, op, length. */
#define QUEUED_EVENT 8

void cbp_endpoint_start(cbp_endpoint *ep, cbp_bridge *bridge, const cbp_endpoint_config *config, uint8_t number) {
  memset(ep, 0, sizeof *ep);
  ep->bridge = bridge;
  ep->config = config;
  ep->number = number;
  cbp_endpoint_clear(ep);
}

void cbp_endpoint_clear(cbp_endpoint *ep) {
  const cbp_endpoint_config *config = ep->config;
  if (ep->current != NULL && config->class_ops->abort != NULL) config->class_ops->abort(ep);
  memset(ep->slots, 0, sizeof ep->slots);
  ep->current = NULL;
  ep->serial = 0;
  ep->rx = (cbp_ring){config->rx, config->rx_window, 0, 0};
  ep->tx = (cbp_ring){config->tx, config->tx_size, 0, 0};
  ep->events = (cbp_ring){config->events, config->evq, 0, 0};
  ep->frame_left = 0;
  ep->open_rid = 0;
  ep->open_closed = false;
  ep->open_left = 0;
  ep->received = 0;
  ep->consumed = 0;
  ep->granted = config->rx_window;
  ep->event_spent = 0;
  ep->event_limit = FIRST_EVENT_CREDIT;
  ep->event_lost = 0;
  ep->event_count = 0;
}

/* ---- the request ring ---- */

static void drop(cbp_endpoint *ep, uint16_t count) {
  cbp_ring_drop(&ep->rx, count);
  ep->consumed += count;
}

static cbp_frame peek_head(const cbp_endpoint *ep, uint16_t offset) {
  uint8_t head[CBP_FRAME_HEAD];
  cbp_frame frame;
  size_t at = 0;
  cbp_ring_peek(&ep->rx, offset, head, sizeof head);
  cbp_next_frame(head, sizeof head, &at, &frame);
  return frame;
}

/* What the ring still holds of a request must not be taken for the next one with its id. */
static void mark_dead(cbp_endpoint *ep, uint16_t rid) {
  for (uint16_t at = ep->frame_left; at < ep->rx.used;) {
    cbp_frame frame = peek_head(ep, at);
    if (frame.rid == rid) ep->rx.bytes[cbp_ring_at(&ep->rx, at)] |= DEAD_BIT;
    at = (uint16_t)(at + CBP_FRAME_HEAD + frame.length);
  }
}

static cbp_request *find(cbp_endpoint *ep, uint16_t rid) {
  for (int i = 0; i < CBP_SLOTS; i++)
    if (ep->slots[i].state != CBP_FREE && ep->slots[i].rid == rid) return &ep->slots[i];
  return NULL;
}

static void count_end(cbp_endpoint *ep, uint8_t status) {
  if (status != CBP_OK) ep->stats.errors++;
  if (status == CBP_TIMEOUT) ep->stats.timeouts++;
  if (status == CBP_CANCELLED) ep->stats.cancels++;
}

/* It is over; its answer waits for a packet. */
static void close_request(cbp_endpoint *ep, cbp_request *request, uint8_t status) {
  bool ran = request == ep->current;
  if (ran) {
    ep->current = NULL;
    /* It wrote last, so what has not gone out of a failed response lies at the ring's end. */
    if (status != CBP_OK) {
      ep->tx.used = (uint16_t)(ep->tx.used - request->unsent);
      request->unsent = 0;
    }
  }
  request->state = ran ? CBP_DONE : CBP_REFUSED;
  request->status = status;
  if (request->rid == ep->open_rid) ep->open_closed = true;
  mark_dead(ep, request->rid);
  count_end(ep, status);
}

static void stop(cbp_endpoint *ep, cbp_request *request, uint8_t status) {
  if (request->state != CBP_WAITING && request->state != CBP_RUNNING) return;
  if (request == ep->current && ep->config->class_ops->abort != NULL) ep->config->class_ops->abort(ep);
  close_request(ep, request, status);
}

void cbp_endpoint_abort(cbp_endpoint *ep, uint8_t status) {
  for (int i = 0; i < CBP_SLOTS; i++) stop(ep, &ep->slots[i], status);
}

/* Moves the tail of the ring to the next request that is alive, and makes it the current one. */
static bool next_request(cbp_endpoint *ep) {
  while (ep->rx.used > 0) {
    if (ep->frame_left > 0) {
      drop(ep, ep->frame_left);
      ep->frame_left = 0;
      continue;
    }
    bool dead = (ep->rx.bytes[ep->rx.tail] & DEAD_BIT) != 0;
    cbp_frame frame = peek_head(ep, 0);
    drop(ep, CBP_FRAME_HEAD);
    ep->frame_left = frame.length;
    if (dead || frame.type != CBP_REQ) continue;
    drop(ep, REQ_PRELUDE);
    ep->frame_left = (uint16_t)(ep->frame_left - REQ_PRELUDE);
    ep->current = find(ep, frame.rid);
    ep->current->state = CBP_RUNNING;
    ep->current->serial = ep->serial++;
    return true;
  }
  return false;
}

void cbp_endpoint_run(cbp_endpoint *ep, uint32_t now_us) {
  for (int i = 0; i < CBP_SLOTS; i++) {
    cbp_request *request = &ep->slots[i];
    if (request->has_deadline && !cbp_before(now_us, request->deadline_us)) stop(ep, request, CBP_TIMEOUT);
  }
  if (ep->config->class_ops->tick != NULL) ep->config->class_ops->tick(ep, now_us);
  while (ep->current != NULL || next_request(ep)) {
    ep->config->class_ops->step(ep, now_us);
    if (ep->current != NULL) break;
  }
}

/* ---- what the host sends ---- */

static bool take_request(cbp_endpoint *ep, const cbp_frame *frame, uint16_t cost, uint32_t now_us) {
  if (frame->length < REQ_PRELUDE || frame->rid == 0 || find(ep, frame->rid) != NULL) return false;
  if (ep->open_rid != 0 && !ep->open_closed) return false;
  uint32_t length = cbp_get32(frame->body);
  uint32_t deadline_ms = cbp_get32(frame->body + 4);
  uint32_t first = (uint32_t)frame->length - REQ_PRELUDE;
  if (first > length || (frame->fin && first != length)) return false;

  cbp_request *slot = NULL;
  int open = 0;
  for (int i = 0; i < CBP_SLOTS; i++) {
    if (ep->slots[i].state != CBP_FREE) open++;
    else if (slot == NULL) slot = &ep->slots[i];
  }
  if (slot == NULL) return false;
  if (deadline_ms == 0) deadline_ms = ep->config->class_ops->default_deadline_ms;
  if (deadline_ms > LONGEST_DEADLINE_MS) deadline_ms = LONGEST_DEADLINE_MS;
  *slot = (cbp_request){.state = CBP_WAITING,
                        .rid = frame->rid,
                        .op = frame->op,
                        .has_deadline = deadline_ms != 0,
                        .arrived_us = now_us,
                        .deadline_us = now_us + deadline_ms * 1000u,
                        .body_length = length};
  ep->stats.requests++;
  ep->stats.bytes_in += first;
  ep->open_rid = frame->fin ? 0 : frame->rid;
  ep->open_closed = false;
  ep->open_aux = 1;
  ep->open_left = length - first;
  if (open >= ep->config->max_inflight) {
    ep->consumed += cost;
    close_request(ep, slot, CBP_BUSY);
    return true;
  }
  uint8_t head[CBP_FRAME_HEAD];
  cbp_put_frame(head, frame);
  cbp_ring_push(&ep->rx, head, sizeof head);
  cbp_ring_push(&ep->rx, frame->body, frame->length);
  return true;
}

static bool take_data(cbp_endpoint *ep, const cbp_frame *frame, uint16_t cost) {
  if (frame->rid != ep->open_rid || ep->open_closed) {
    /* The rest of a request that has been answered. */
    ep->consumed += cost;
    if (frame->fin && frame->rid == ep->open_rid) ep->open_rid = 0;
    return true;
  }
  if (frame->aux != ep->open_aux || frame->length > ep->open_left) return false;
  if (frame->fin && frame->length != ep->open_left) return false;
  ep->open_aux++;
  ep->open_left -= frame->length;
  ep->stats.bytes_in += frame->length;
  if (frame->fin) ep->open_rid = 0;
  uint8_t head[CBP_FRAME_HEAD];
  cbp_put_frame(head, frame);
  cbp_ring_push(&ep->rx, head, sizeof head);
  cbp_ring_push(&ep->rx, frame->body, frame->length);
  return true;
}

bool cbp_endpoint_receive(cbp_endpoint *ep, const cbp_frame *frame, uint32_t now_us) {
  if (frame->type == CBP_CANCEL) {
    cbp_request *request = find(ep, frame->rid);
    /* Reason 2 gives back what waits, and leaves alone what has begun. */
    bool spares = frame->op == CBP_CANCEL_RECALL && request != NULL && request->state != CBP_WAITING;
    if (request != NULL && !spares) stop(ep, request, CBP_CANCELLED);
    return true;
  }
  if (frame->type == CBP_CREDIT) {
    if (frame->op != 1 || frame->length < 4) return false;
    uint32_t limit = cbp_get32(frame->body);
    if (cbp_before(ep->event_limit, limit)) ep->event_limit = limit;
    return true;
  }
  uint16_t cost = (uint16_t)(CBP_FRAME_HEAD + frame->length);
  ep->received += cost;
  if (cbp_before(ep->granted, ep->received)) return false;
  bool good = frame->type == CBP_REQ ? take_request(ep, frame, cost, now_us) : take_data(ep, frame, cost);
  if (ep->rx.used > ep->stats.ring_peak) ep->stats.ring_peak = ep->rx.used;
  return good;
}

bool cbp_endpoint_owes_credit(const cbp_endpoint *ep) {
  return ep->consumed + ep->config->rx_window - ep->granted >= (uint32_t)ep->config->rx_window / 4;
}

/* ---- for the class ---- */

uint16_t cbp_read(cbp_endpoint *ep, uint8_t *out, uint16_t count) {
  uint16_t done = 0;
  while (done < count && ep->current->body_read < ep->current->body_length) {
    if (ep->frame_left == 0) {
      if (ep->rx.used == 0) break;
      ep->frame_left = peek_head(ep, 0).length;
      drop(ep, CBP_FRAME_HEAD);
      continue;
    }
    uint16_t take = (uint16_t)(count - done);
    if (take > ep->frame_left) take = ep->frame_left;
    if (out != NULL) cbp_ring_peek(&ep->rx, 0, out + done, take);
    drop(ep, take);
    ep->frame_left = (uint16_t)(ep->frame_left - take);
    ep->current->body_read += take;
    done = (uint16_t)(done + take);
  }
  return done;
}

bool cbp_gather(cbp_endpoint *ep, uint8_t *out, uint16_t wanted) {
  uint16_t have = (uint16_t)ep->current->body_read;
  return have >= wanted || (uint16_t)(have + cbp_read(ep, out + have, (uint16_t)(wanted - have))) == wanted;
}

uint32_t cbp_body_left(const cbp_endpoint *ep) { return ep->current->body_length - ep->current->body_read; }

void cbp_announce(cbp_endpoint *ep, uint32_t length) { ep->current->answer_length = length; }

uint16_t cbp_write_room(const cbp_endpoint *ep) { return cbp_ring_room(&ep->tx); }

void cbp_write(cbp_endpoint *ep, const uint8_t *bytes, uint16_t count) {
  cbp_ring_push(&ep->tx, bytes, count);
  ep->current->unsent += count;
}

void cbp_finish(cbp_endpoint *ep, uint8_t status) { close_request(ep, ep->current, status); }

void cbp_deadline(cbp_endpoint *ep, uint32_t ms) {
  if (ep->current->has_deadline) return;
  if (ms > LONGEST_DEADLINE_MS) ms = LONGEST_DEADLINE_MS;
  ep->current->has_deadline = true;
  ep->current->deadline_us = ep->current->arrived_us + ms * 1000u;
}

void cbp_emit(cbp_endpoint *ep, uint8_t op, uint32_t at_us, const uint8_t *data, uint8_t count) {
  uint32_t cost = (uint32_t)CBP_FRAME_HEAD + EVENT_PRELUDE + count;
  bool fits = cost <= (uint32_t)ep->bridge->n - CBP_OVERHEAD && QUEUED_EVENT + count <= cbp_ring_room(&ep->events);
  if (ep->bridge->state != CBP_UP) return; /* nobody listens: not a loss of a session */
  if (!fits || cbp_before(ep->event_limit, ep->event_spent + cost)) {
    ep->event_lost++;
    ep->stats.events_lost++;
    return;
  }
  uint8_t head[QUEUED_EVENT];
  cbp_put32(head, at_us);
  cbp_put16(head + 4, (uint16_t)(ep->event_lost > 0xFFFF ? 0xFFFF : ep->event_lost));
  head[6] = op;
  head[7] = count;
  cbp_ring_push(&ep->events, head, sizeof head);
  cbp_ring_push(&ep->events, data, count);
  ep->event_spent += cost;
  ep->event_lost = 0;
  ep->stats.events++;
}

/* ---- frames for the host ---- */

bool cbp_endpoint_idle(const cbp_endpoint *ep) {
  for (int i = 0; i < CBP_SLOTS; i++)
    if (ep->slots[i].state != CBP_FREE) return false;
  return true;
}

/* Refusals have no bytes and go first; then responses in the order in which their requests ran. */
static const cbp_request *next_answer(const cbp_endpoint *ep) {
  const cbp_request *best = NULL;
  for (int i = 0; i < CBP_SLOTS; i++) {
    const cbp_request *slot = &ep->slots[i];
    if (slot->state == CBP_REFUSED) return slot;
    if (slot->state != CBP_RUNNING && slot->state != CBP_DONE) continue;
    if (best == NULL || cbp_before(slot->serial, best->serial)) best = slot;
  }
  if (best == NULL || best->state == CBP_DONE || best->unsent >= CBP_CHUNK) return best;
  return NULL;
}

bool cbp_endpoint_ready(const cbp_endpoint *ep) { return ep->events.used > 0 || next_answer(ep) != NULL; }

static uint16_t cut_event(cbp_endpoint *ep, uint8_t *out, uint16_t room) {
  uint8_t head[QUEUED_EVENT];
  cbp_ring_peek(&ep->events, 0, head, sizeof head);
  uint16_t count = head[7];
  uint16_t length = (uint16_t)(CBP_FRAME_HEAD + EVENT_PRELUDE + count);
  if (length > room) return 0;
  cbp_frame frame = {.type = CBP_EVT,
                     .fin = true,
                     .ep = ep->number,
                     .rid = ++ep->event_count,
                     .op = head[6],
                     .length = (uint16_t)(EVENT_PRELUDE + count)};
  cbp_put_frame(out, &frame);
  memcpy(out + CBP_FRAME_HEAD, head, 6);
  cbp_put16(out + CBP_FRAME_HEAD + 6, 0);
  cbp_ring_peek(&ep->events, QUEUED_EVENT, out + CBP_FRAME_HEAD + EVENT_PRELUDE, count);
  cbp_ring_drop(&ep->events, (uint16_t)(QUEUED_EVENT + count));
  return length;
}

static uint16_t cut_answer(cbp_endpoint *ep, cbp_request *request, uint8_t *out, uint16_t room) {
  uint16_t prelude = request->head_sent ? 0 : RSP_PRELUDE;
  if (room < CBP_FRAME_HEAD + prelude) return 0;
  uint32_t rest = prelude + request->unsent;
  uint32_t take = (uint32_t)room - CBP_FRAME_HEAD;
  if (take > rest) take = rest;
  if (take < rest && take < CBP_MIN_FRAGMENT) return 0;
  bool over = request->state != CBP_RUNNING;
  bool fin = over && take == rest;
  cbp_frame frame = {.type = request->head_sent ? CBP_DATA : CBP_RSP,
                     .fin = fin,
                     .ep = ep->number,
                     .rid = request->rid,
                     .op = fin ? request->status : 0,
                     .aux = request->aux++,
                     .length = (uint16_t)take};
  cbp_put_frame(out, &frame);
  if (prelude > 0) cbp_put32(out + CBP_FRAME_HEAD, request->answer_length);
  uint16_t bytes = (uint16_t)(take - prelude);
  cbp_ring_peek(&ep->tx, 0, out + CBP_FRAME_HEAD + prelude, bytes);
  cbp_ring_drop(&ep->tx, bytes);
  request->unsent -= bytes;
  request->head_sent = true;
  ep->stats.bytes_out += bytes;
  if (fin) request->state = CBP_FREE;
  return (uint16_t)(CBP_FRAME_HEAD + take);
}

uint16_t cbp_endpoint_cut(cbp_endpoint *ep, uint8_t *out, uint16_t room) {
  if (ep->events.used > 0) {
    uint16_t length = cut_event(ep, out, room);
    if (length > 0) return length;
  }
  const cbp_request *request = next_answer(ep);
  return request == NULL ? 0 : cut_answer(ep, &ep->slots[request - ep->slots], out, room);
}

void cbp_describe(const cbp_endpoint *ep, uint8_t *out) {
  const cbp_endpoint_config *config = ep->config;
  out[0] = ep->number;
  out[1] = config->class_id;
  out[2] = 1;
  out[3] = 0;
  out[4] = config->prio;
  out[5] = config->max_inflight;
  cbp_put16(out + 6, config->flags);
  cbp_put16(out + 8, config->rx_window);
  cbp_put16(out + 10, config->evq);
  cbp_put32(out + 12, config->max_xfer);
}
