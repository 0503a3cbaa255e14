#include <string.h>

#include "classes.h"

enum { XFER = 1 };
enum { LSB_FIRST = 1, CS_HIGH = 2, KEEP_CS = 4, ATOMIC = 8 };

#define HEAD 16
#define SLOWEST_HZ 1000
#define FASTEST_HZ 30000000
#define PIECE 64

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Twice the time on the bus and 100 ms. */
static uint32_t default_deadline_ms(const spix_device *d) {
  uint64_t ms = (uint64_t)2 * d->clk_len * 8000 / d->speed_hz;
  return ms > 1000000 ? 1000100 : (uint32_t)ms + 100;
}

static void release(spix_device *d) {
  if (d->selected && d->target->deselect != NULL) d->target->deselect(d->target->state);
  d->selected = false;
  d->kept = false;
}

static uint8_t check(const cbp_endpoint *ep, const spix_device *d, const uint8_t *head) {
  if (d->target == NULL) return CBP_INVALID;
  if (head[1] > 3) return CBP_BAD_MODE;
  if (head[2] != 8) return CBP_UNSUPPORTED;
  if (d->speed_hz < SLOWEST_HZ || d->speed_hz > FASTEST_HZ) return CBP_BAD_SPEED;
  if (d->clk_len > ep->config->max_xfer) return CBP_TOO_BIG;
  if (d->rx_len > d->clk_len || d->tx_len > d->clk_len) return CBP_INVALID;
  if ((d->flags & ATOMIC) && (d->tx_len > SPIX_ATOMIC || d->rx_len > ep->config->tx_size)) return CBP_TOO_BIG;
  return CBP_OK;
}

/* Takes the head of a transfer once it has come; true while there is a transfer to go on with. */
static bool begin(cbp_endpoint *ep, spix_device *d) {
  uint8_t *head = d->buffer;
  if (ep->current->body_length < HEAD) {
    cbp_finish(ep, CBP_INVALID);
    return false;
  }
  if (!cbp_gather(ep, head, HEAD)) return false;
  const spi_target *target = NULL;
  for (uint8_t i = 0; i < d->target_count; i++)
    if (d->targets[i].cs == head[0]) target = &d->targets[i];
  if (d->kept && target != d->target) release(d);
  d->target = target;
  d->flags = head[3];
  d->speed_hz = cbp_get32(head + 4);
  d->clk_len = cbp_get32(head + 8);
  d->rx_len = cbp_get32(head + 12);
  d->tx_len = ep->current->body_length - HEAD;
  d->clocked = 0;
  d->buffered = 0;
  d->since_bytes = 0;
  uint8_t status = check(ep, d, head);
  if (status != CBP_OK) {
    cbp_finish(ep, status);
    return false;
  }
  cbp_deadline(ep, default_deadline_ms(d));
  cbp_announce(ep, d->rx_len);
  return true;
}

/* Everything that an atomic transfer needs is there: its bytes, and the place of its answer. */
static bool complete(cbp_endpoint *ep, spix_device *d) {
  uint16_t missing = (uint16_t)(d->tx_len - d->buffered);
  d->buffered = (uint16_t)(d->buffered + cbp_read(ep, d->buffer + d->buffered, missing));
  return d->buffered == d->tx_len && cbp_write_room(ep) >= d->rx_len;
}

/* Bytes whose time on the bus has come. Firmware has a DMA channel instead, and a counter of what it has moved. */
static uint32_t due(const spix_device *d, uint32_t now_us) {
  uint64_t bytes = (uint64_t)(now_us - d->since_us) * d->speed_hz / 8000000u;
  return bytes > d->clk_len ? d->clk_len - d->since_bytes : (uint32_t)bytes - d->since_bytes;
}

/* One piece through the bus: as many bytes as are due, have come, and have a place in the response. */
static uint32_t clock_piece(cbp_endpoint *ep, spix_device *d, uint32_t count) {
  uint8_t piece[PIECE] = {0};
  count = least(least(count, PIECE), d->clk_len - d->clocked);
  uint32_t wanted = d->clocked < d->rx_len ? d->rx_len - d->clocked : 0;
  if (wanted > 0) count = least(count, cbp_write_room(ep));
  uint32_t left = d->clocked < d->tx_len ? d->tx_len - d->clocked : 0;
  if (left > 0 && (d->flags & ATOMIC)) memcpy(piece, d->buffer + d->clocked, least(left, count));
  else if (left > 0) {
    uint32_t got = cbp_read(ep, piece, (uint16_t)least(left, count));
    if (got < left) count = got;
  }
  for (uint32_t i = 0; i < count; i++) piece[i] = d->target->exchange(d->target->state, piece[i]);
  cbp_write(ep, piece, (uint16_t)least(count, wanted));
  d->clocked += count;
  d->since_bytes += count;
  return count;
}

static void step(cbp_endpoint *ep, uint32_t now_us) {
  spix_device *d = ep->config->device;
  if (ep->current->op != XFER) {
    cbp_finish(ep, CBP_UNSUPPORTED);
    return;
  }
  if (ep->current->body_read < HEAD && !begin(ep, d)) return;
  if (!d->selected || d->kept) {
    if ((d->flags & ATOMIC) && !complete(ep, d)) return;
    if (!d->selected && d->target->select != NULL) d->target->select(d->target->state);
    d->selected = true;
    d->kept = false;
    d->since_us = now_us;
  }
  uint32_t count = due(d, now_us);
  while (count > 0 && d->clocked < d->clk_len) {
    uint32_t moved = clock_piece(ep, d, count);
    if (moved == 0) {
      /* SCLK pauses, CS stays: the time that passes now brings no bytes. */
      d->since_us = now_us;
      d->since_bytes = 0;
      return;
    }
    count -= least(count, moved);
  }
  if (d->clocked < d->clk_len) return;
  if (d->flags & KEEP_CS) d->kept = true;
  else release(d);
  cbp_finish(ep, CBP_OK);
}

static void abort_transfer(cbp_endpoint *ep) { release(ep->config->device); }

static void reset(cbp_endpoint *ep, uint32_t now_us) {
  (void)now_us;
  release(ep->config->device);
}

const cbp_class spix_class = {.step = step, .abort = abort_transfer, .reset = reset};
