/* Endpoint 0 (docs/cbp.md, "The system endpoint"). */
#include <string.h>

#include "cbp_core.h"

enum { ENUM = 1, NAME = 2, STATS = 3, EP_STATS = 4, EP_RESET = 5, ECHO = 6, REBOOT = 7 };

#define STATS_WORDS 12
#define EP_STATS_WORDS 9
#define ECHO_PIECE 32

static void answer_words(cbp_endpoint *ep, const uint32_t *words, uint16_t count) {
  uint8_t bytes[4];
  cbp_announce(ep, 4u * count);
  for (uint16_t i = 0; i < count; i++) {
    cbp_put32(bytes, words[i]);
    cbp_write(ep, bytes, sizeof bytes);
  }
  cbp_finish(ep, CBP_OK);
}

static void stats(cbp_endpoint *ep) {
  const cbp_bridge *b = ep->bridge;
  const cbp_link_stats *s = &b->stats;
  const uint32_t free_memory = 0; /* everything is static */
  const uint32_t words[STATS_WORDS] = {(uint32_t)(b->uptime_us / 1000),
                                       s->transactions,
                                       s->rx_ok,
                                       s->rx_bad,
                                       s->rx_dup,
                                       s->tx_packets,
                                       s->retx,
                                       s->empty,
                                       s->resets,
                                       s->protocol_errors,
                                       free_memory,
                                       s->max_loop_us};
  answer_words(ep, words, STATS_WORDS);
}

static void endpoint_stats(cbp_endpoint *ep, const cbp_endpoint *of) {
  const cbp_endpoint_stats *s = &of->stats;
  const uint32_t words[EP_STATS_WORDS] = {s->requests,  s->errors,    s->timeouts, s->cancels,     s->bytes_in,
                                          s->bytes_out, s->events,    s->events_lost, s->ring_peak};
  answer_words(ep, words, EP_STATS_WORDS);
}

static void table(cbp_endpoint *ep, uint8_t first) {
  const cbp_bridge *b = ep->bridge;
  uint8_t row[CBP_DESCRIPTOR];
  uint8_t count = b->board->endpoint_count;
  cbp_announce(ep, first < count ? (uint32_t)(count - first) * CBP_DESCRIPTOR : 0);
  for (uint8_t i = first; i < count; i++) {
    cbp_describe(&b->endpoints[i], row);
    cbp_write(ep, row, sizeof row);
  }
  cbp_finish(ep, CBP_OK);
}

static void name(cbp_endpoint *ep, const cbp_endpoint *of) {
  const char *label = of->config->label;
  uint16_t length = (uint16_t)strlen(label);
  cbp_announce(ep, length);
  cbp_write(ep, (const uint8_t *)label, length);
  cbp_finish(ep, CBP_OK);
}

static void reset(cbp_endpoint *ep, cbp_endpoint *which, uint32_t now_us) {
  if (which == ep) {
    cbp_finish(ep, CBP_INVALID);
    return;
  }
  cbp_endpoint_abort(which, CBP_CANCELLED);
  if (which->config->class_ops->reset != NULL) which->config->class_ops->reset(which, now_us);
  cbp_finish(ep, CBP_OK);
}

static void reboot(cbp_endpoint *ep, uint8_t mode) {
  if (mode > 1) {
    cbp_finish(ep, CBP_INVALID);
    return;
  }
  ep->bridge->reboot_mode = mode;
  ep->bridge->leaving = CBP_LEAVING;
  cbp_finish(ep, CBP_OK);
}

/* Whatever fits at a time: the response may begin before the request is complete. */
static void echo(cbp_endpoint *ep) {
  uint8_t piece[ECHO_PIECE];
  cbp_announce(ep, ep->current->body_length);
  for (;;) {
    if (cbp_body_left(ep) == 0) {
      cbp_finish(ep, CBP_OK);
      return;
    }
    uint16_t room = cbp_write_room(ep);
    uint16_t count = cbp_read(ep, piece, room < ECHO_PIECE ? room : ECHO_PIECE);
    if (count == 0) return;
    cbp_write(ep, piece, count);
  }
}

static void step(cbp_endpoint *ep, uint32_t now_us) {
  uint8_t op = ep->current->op;
  uint8_t byte = 0;
  if (op < ENUM || op > REBOOT) {
    cbp_finish(ep, CBP_UNSUPPORTED);
    return;
  }
  if (op == ECHO) {
    echo(ep);
    return;
  }
  uint16_t wanted = op == STATS ? 0 : 1;
  if (ep->current->body_length != wanted) {
    cbp_finish(ep, CBP_INVALID);
    return;
  }
  /* A whole answer at once: the longest of them is shorter than the ring. */
  if (!cbp_gather(ep, &byte, wanted) || cbp_write_room(ep) < ep->config->tx_size / 2) return;
  cbp_endpoint *other = byte < ep->bridge->board->endpoint_count ? &ep->bridge->endpoints[byte] : NULL;
  if (other == NULL && (op == NAME || op == EP_STATS || op == EP_RESET)) cbp_finish(ep, CBP_NO_ENDPOINT);
  else if (op == ENUM) table(ep, byte);
  else if (op == NAME) name(ep, other);
  else if (op == STATS) stats(ep);
  else if (op == EP_STATS) endpoint_stats(ep, other);
  else if (op == EP_RESET) reset(ep, other, now_us);
  else reboot(ep, byte);
}

const cbp_class cbp_sys = {.step = step, .default_deadline_ms = 1000};
