/* The link: sessions and go-back-N (docs/cbp.md, "ARQ" and "Bring-up and reset"). */
#include "cbp_core.h"

#include <string.h>

#define LAZY_ACK_US 1000u
/* Between the GOAWAY and the reset: the host has to hear it. */
#define LEAVE_US 50000u
#define PROTOCOL_MAJOR 1
/* 1: knows the reason 2 of CANCEL. */
#define PROTOCOL_MINOR 1

/* ---- start ---- */

static void clear_endpoints(cbp_bridge *b) {
  for (int i = 0; i < b->board->endpoint_count; i++) cbp_endpoint_clear(&b->endpoints[i]);
  b->pong_due = false;
}

static void boot(cbp_bridge *b) {
  b->state = CBP_BOOT;
  b->nonce = 0;
  b->candidate = 0;
  b->sid = 0;
  clear_endpoints(b);
}

static void seal_armed(cbp_bridge *b, const cbp_packet *packet) { cbp_seal(packet, b->armed, sizeof b->armed); }

static void arm(cbp_bridge *b, uint32_t now_us);

void cbp_start(cbp_bridge *b, const cbp_board *board, uint32_t boot_id, uint8_t reset_reason, uint32_t now_us) {
  uint8_t row[CBP_DESCRIPTOR];
  memset(b, 0, sizeof *b);
  b->board = board;
  b->boot_id = boot_id;
  b->reset_reason = reset_reason;
  b->n = CBP_BRING_UP_BYTES;
  b->polled_us = now_us;
  for (uint8_t i = 0; i < board->endpoint_count; i++) {
    cbp_endpoint *ep = &b->endpoints[i];
    cbp_endpoint_start(ep, b, &board->endpoints[i], i);
    if (ep->config->class_ops->reset != NULL) ep->config->class_ops->reset(ep, now_us);
    cbp_describe(ep, row);
    b->table_crc = cbp_crc32(b->table_crc, row, sizeof row);
  }
  boot(b);
  arm(b, now_us);
}

/* ---- the packet that goes out next ---- */

static void arm_hello_ack(cbp_bridge *b) {
  uint8_t payload[CBP_FRAME_HEAD + CBP_HELLO_BODY];
  cbp_frame frame = {.type = CBP_HELLO_ACK, .fin = true, .op = PROTOCOL_MAJOR, .aux = PROTOCOL_MINOR,
                     .length = CBP_HELLO_BODY};
  cbp_hello hello = {.nonce = b->nonce,
                     .n = b->n,
                     .window = b->window,
                     .gap_us = b->board->gap_us,
                     .ack_delay = 1,
                     .ep_count = b->board->endpoint_count,
                     .hb_ms = b->board->watchdog_ms,
                     .khz = b->board->khz,
                     .boot_id = b->boot_id,
                     .table_crc = b->table_crc,
                     .fw = {b->board->firmware[0], b->board->firmware[1], b->board->firmware[2], b->reset_reason}};
  cbp_put_frame(payload, &frame);
  cbp_put_hello(payload + CBP_FRAME_HEAD, &hello);
  cbp_packet packet = {.rst = true, .payload = payload, .length = sizeof payload};
  seal_armed(b, &packet);
}

/* Rule A1. Called again while the packet is still unsent it renews the acknowledgement and MORE. */
static void arm(cbp_bridge *b, uint32_t now_us) {
  b->armed_data = false;
  if (b->state == CBP_BOOT) {
    cbp_packet packet = {.rst = true};
    seal_armed(b, &packet);
    return;
  }
  if (b->state == CBP_ACKING) {
    arm_hello_ack(b);
    return;
  }
  if (b->unsent == b->next && b->next - b->base < b->window) {
    cbp_stored *stored = &b->store[b->next % CBP_MAX_WINDOW];
    stored->length = cbp_fill(b, stored->payload, (uint16_t)(b->n - CBP_OVERHEAD), now_us);
    if (stored->length > 0) b->next++;
  }
  b->armed_data = b->unsent < b->next;
  const cbp_stored *stored = &b->store[b->unsent % CBP_MAX_WINDOW];
  cbp_packet packet = {.data = b->armed_data,
                       .more = b->next - b->unsent > 1 || cbp_anything_ready(b),
                       .seq = (uint8_t)b->unsent,
                       .ack = (uint8_t)b->expected,
                       .sid = b->sid,
                       .payload = stored->payload,
                       .length = b->armed_data ? stored->length : 0};
  seal_armed(b, &packet);
}

const uint8_t *cbp_armed(const cbp_bridge *b) { return b->armed; }

bool cbp_data_ready(const cbp_bridge *b, uint32_t now_us) {
  if (b->in_transaction) return false;
  if (b->state != CBP_UP || b->armed_data) return true;
  return b->base < b->unsent && now_us - b->store[b->base % CBP_MAX_WINDOW].sent_us > LAZY_ACK_US;
}

bool cbp_busy(const cbp_bridge *b) {
  for (int i = 0; i < b->board->endpoint_count; i++)
    if (b->endpoints[i].current != NULL) return true;
  return b->base < b->next;
}

/* ---- sessions ---- */

static void open_session(cbp_bridge *b, const cbp_hello *offer, uint32_t now_us) {
  uint16_t n = CBP_BRING_UP_BYTES;
  while (n * 2 <= offer->n && n * 2 <= CBP_MAX_N) n = (uint16_t)(n * 2);
  b->nonce = offer->nonce;
  b->candidate = 0;
  b->sid = (uint16_t)offer->nonce;
  b->n = n;
  b->window = offer->window < CBP_MAX_WINDOW ? offer->window : CBP_MAX_WINDOW;
  b->base = b->next = b->unsent = b->highest = b->expected = b->transaction = 0;
  b->heard_us = now_us;
  b->watchdog_bit = false;
  b->leaving = CBP_STAY;
  b->stats.resets++;
  clear_endpoints(b);
  b->state = CBP_ACKING;
}

/* The second HELLO of the same new nonce in a row opens a session: one that a stale DMA buffer repeats does no harm. */
static void hello(cbp_bridge *b, const cbp_packet *packet, uint32_t now_us) {
  cbp_frame frame;
  cbp_hello offer;
  size_t at = 0;
  if (!cbp_next_frame(packet->payload, packet->length, &at, &frame)) return;
  if (frame.type != CBP_HELLO || frame.length < CBP_HELLO_BODY) return;
  cbp_get_hello(frame.body, &offer);
  if ((offer.nonce & 0xFFFF) == 0 || offer.n < CBP_BRING_UP_BYTES || offer.window == 0) return;
  if (b->state != CBP_BOOT && offer.nonce == b->nonce) return;
  if (offer.nonce == b->candidate) open_session(b, &offer, now_us);
  else b->candidate = offer.nonce;
}

/* ---- what the host sends ---- */

static bool receive_frame(cbp_bridge *b, const cbp_frame *frame, uint32_t now_us) {
  switch (frame->type) {
    case CBP_REQ:
    case CBP_DATA:
    case CBP_CREDIT:
    case CBP_CANCEL:
      if (frame->ep >= b->board->endpoint_count) return false;
      return cbp_endpoint_receive(&b->endpoints[frame->ep], frame, now_us);
    case CBP_PING:
      if (frame->length < 8) return false;
      b->pong_due = true;
      b->pong_token = cbp_get32(frame->body);
      return true;
    case CBP_PONG:
      return true;
    default:
      return frame->type >= CBP_FIRST_EXTENSION;
  }
}

static void protocol_error(cbp_bridge *b) {
  b->stats.protocol_errors++;
  boot(b);
}

static void receive_payload(cbp_bridge *b, const cbp_packet *packet, uint32_t now_us) {
  cbp_frame frame;
  size_t at = 0;
  while (cbp_next_frame(packet->payload, packet->length, &at, &frame)) {
    if (receive_frame(b, &frame, now_us)) continue;
    protocol_error(b);
    return;
  }
}

/* Rules A3 and A4. */
static void acknowledge(cbp_bridge *b, uint8_t ack) {
  uint32_t advance = (uint8_t)(ack - (uint8_t)b->base);
  if (advance > b->next - b->base) return;
  b->base += advance;
  if (b->unsent < b->base) b->unsent = b->base;
  /* The host's ack_delay is 1: what went out in this transaction cannot have been acknowledged in it. */
  if (b->base < b->unsent && b->transaction != b->store[b->base % CBP_MAX_WINDOW].sent_at) b->unsent = b->base;
}

static void receive(cbp_bridge *b, const cbp_packet *packet, uint32_t now_us) {
  if (packet->rst) {
    hello(b, packet, now_us);
    return;
  }
  if (b->state == CBP_BOOT || packet->sid != b->sid) return;
  b->state = CBP_UP;
  b->candidate = 0;
  b->heard_us = now_us;
  b->watchdog_bit = false;
  acknowledge(b, packet->ack);
  if (!packet->data) return;
  /* Rule A5. */
  uint8_t offset = (uint8_t)(packet->seq - (uint8_t)b->expected);
  if (offset == 0) {
    b->expected++;
    receive_payload(b, packet, now_us);
  } else if (offset >= 256 - b->window) {
    b->stats.rx_dup++;
  }
}

/* ---- the wire ---- */

void cbp_cs_fell(cbp_bridge *b, uint32_t now_us) {
  b->in_transaction = true;
  b->stats.transactions++;
  if (!b->armed_data) {
    b->stats.empty++;
    return;
  }
  cbp_stored *stored = &b->store[b->unsent % CBP_MAX_WINDOW];
  stored->sent_at = b->transaction;
  stored->sent_us = now_us;
  b->stats.tx_packets++;
  if (b->unsent < b->highest) b->stats.retx++;
  b->unsent++;
  if (b->highest < b->unsent) b->highest = b->unsent;
}

void cbp_cs_rose(cbp_bridge *b, const uint8_t *bytes, size_t count, uint32_t now_us) {
  cbp_packet packet;
  b->in_transaction = false;
  if (cbp_open(bytes, count, &packet) == CBP_GOOD) {
    b->stats.rx_ok++;
    receive(b, &packet, now_us);
  } else {
    b->stats.rx_bad++;
  }
  b->transaction++;
  arm(b, now_us);
}

static void watch(cbp_bridge *b, uint32_t now_us) {
  if (b->state != CBP_UP || b->watchdog_bit || b->board->watchdog_ms == 0) return;
  if (now_us - b->heard_us <= b->board->watchdog_ms * 1000u) return;
  b->watchdog_bit = true;
  for (int i = 0; i < b->board->endpoint_count; i++) {
    cbp_endpoint *ep = &b->endpoints[i];
    cbp_endpoint_abort(ep, CBP_CANCELLED);
    if (ep->config->class_ops->safe != NULL) ep->config->class_ops->safe(ep, now_us);
  }
}

void cbp_poll(cbp_bridge *b, uint32_t now_us) {
  uint32_t loop = now_us - b->polled_us;
  b->polled_us = now_us;
  b->uptime_us += loop;
  if (loop > b->stats.max_loop_us) b->stats.max_loop_us = loop;
  watch(b, now_us);
  for (int i = 0; i < b->board->endpoint_count; i++) cbp_endpoint_run(&b->endpoints[i], now_us);
  if (b->leaving == CBP_GONE && !cbp_before(now_us, b->leave_us + LEAVE_US)) {
    uint8_t mode = b->reboot_mode;
    b->leaving = CBP_STAY;
    boot(b);
    if (b->board->reboot != NULL) b->board->reboot(mode);
  }
  /* The buffer that is being sent stays as it is. */
  if (!b->in_transaction) arm(b, now_us);
}
