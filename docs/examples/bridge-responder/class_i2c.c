#include "classes.h"

enum { XFER = 1, CONFIG = 2, RECOVER = 3 };

#define HEAD 4
#define READ_BIT 0x8000
#define TEN_BIT 0x8000
#define BITS_PER_BYTE 9
#define SLOWEST_HZ 10000
#define FASTEST_HZ 1000000
#define DEFAULT_HZ 400000

typedef struct {
  uint16_t address;
  uint8_t segments;
  const uint8_t *lengths;
  const uint8_t *bytes;
  uint32_t writes, reads;
} transfer;

static uint16_t segment(const transfer *t, uint8_t i) { return cbp_get16(t->lengths + 2 * i); }

/* Reads the head of an XFER; the status when it is not one. */
static uint8_t parse(const uint8_t *body, uint32_t length, transfer *t) {
  if (length < HEAD) return CBP_INVALID;
  t->address = cbp_get16(body);
  t->segments = body[2];
  if (t->segments == 0) return CBP_INVALID;
  if (t->segments > I2C_SEGMENTS) return CBP_TOO_BIG;
  if (length < HEAD + 2u * t->segments) return CBP_INVALID;
  t->lengths = body + HEAD;
  t->bytes = t->lengths + 2 * t->segments;
  t->writes = t->reads = 0;
  for (uint8_t i = 0; i < t->segments; i++) {
    uint16_t one = segment(t, i);
    if (one & READ_BIT) t->reads += one & ~READ_BIT & 0xFFFF;
    else t->writes += one;
  }
  if (t->reads > I2C_BYTES || t->writes > I2C_BYTES) return CBP_TOO_BIG;
  return length == HEAD + 2u * t->segments + t->writes ? CBP_OK : CBP_INVALID;
}

/* Each segment is a start and the address, then its bytes; a stop follows the last. On a chip: the I2C block's commands. */
static uint8_t run(cbp_endpoint *ep, const transfer *t) {
  i2c_device *device = ep->config->device;
  const i2c_target *target = NULL;
  const uint8_t *out = t->bytes;
  if (device->stuck) return CBP_BUS_STUCK;
  for (uint8_t i = 0; i < device->target_count; i++)
    if (!(t->address & TEN_BIT) && device->targets[i].address == t->address) target = &device->targets[i];
  if (target == NULL) return CBP_NACK;
  cbp_announce(ep, t->reads);
  for (uint8_t i = 0; i < t->segments; i++) {
    uint16_t one = segment(t, i);
    bool read = (one & READ_BIT) != 0;
    if (!target->begin(target->state, read)) return CBP_NACK;
    for (uint16_t count = one & (READ_BIT - 1); count > 0; count--) {
      if (read) {
        uint8_t byte = target->read(target->state);
        cbp_write(ep, &byte, 1);
      } else if (!target->write(target->state, *out++)) {
        return CBP_NACK;
      }
    }
  }
  return CBP_OK;
}

static void transfer_step(cbp_endpoint *ep, uint32_t now_us) {
  i2c_device *device = ep->config->device;
  transfer t;
  uint32_t length = ep->current->body_length;
  if (length > sizeof device->body) {
    cbp_finish(ep, CBP_TOO_BIG);
    return;
  }
  if (!cbp_gather(ep, device->body, (uint16_t)length)) return;
  uint8_t status = parse(device->body, length, &t);
  if (status != CBP_OK) {
    cbp_finish(ep, status);
    return;
  }
  if (!device->clocking) {
    /* Its response has its place before it starts. */
    if (cbp_write_room(ep) < t.reads) return;
    uint64_t bits = (uint64_t)BITS_PER_BYTE * (t.writes + t.reads + t.segments);
    device->clocking = true;
    device->done_us = now_us + (uint32_t)(bits * 1000000u / device->hz);
  }
  if (cbp_before(now_us, device->done_us)) return;
  device->clocking = false;
  cbp_finish(ep, run(ep, &t));
}

static void configure(cbp_endpoint *ep) {
  i2c_device *device = ep->config->device;
  uint8_t body[4];
  if (ep->current->body_length != sizeof body) {
    cbp_finish(ep, CBP_INVALID);
    return;
  }
  cbp_read(ep, body, sizeof body);
  uint32_t hz = cbp_get32(body);
  bool good = hz >= SLOWEST_HZ && hz <= FASTEST_HZ;
  if (good) device->hz = hz;
  cbp_finish(ep, good ? CBP_OK : CBP_BAD_SPEED);
}

static void step(cbp_endpoint *ep, uint32_t now_us) {
  i2c_device *device = ep->config->device;
  switch (ep->current->op) {
    case XFER:
      transfer_step(ep, now_us);
      break;
    case CONFIG:
      configure(ep);
      break;
    case RECOVER:
      /* On a chip: nine clocks and a stop. */
      device->stuck = false;
      cbp_finish(ep, CBP_OK);
      break;
    default:
      cbp_finish(ep, CBP_UNSUPPORTED);
  }
}

/* Nothing of a transfer has happened before its time is over, so there is nothing to undo. */
static void abort_transfer(cbp_endpoint *ep) { ((i2c_device *)ep->config->device)->clocking = false; }

static void reset(cbp_endpoint *ep, uint32_t now_us) {
  i2c_device *device = ep->config->device;
  (void)now_us;
  device->hz = DEFAULT_HZ;
  device->clocking = false;
}

const cbp_class i2c_class = {.step = step, .abort = abort_transfer, .reset = reset, .default_deadline_ms = 1000};
