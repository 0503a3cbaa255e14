#include <string.h>

#include "classes.h"

enum { READ = 1, WRITE = 2, CONFIG = 3, EDGE = 0x80 };
enum { IN = 0, OUT = 1, OPEN_DRAIN = 2 };
enum { PULL_UP = 1, KEEP = 0xFF, NO_WIRE = 0xFF };

/* What a line puts on its wire: 0, 1, or -1 for nothing. */
static int driven(const gpio_line *line) {
  if (line->direction == OUT) return line->latch;
  return line->direction == OPEN_DRAIN && !line->latch ? 0 : -1;
}

/* On a chip: one read of the input register. */
static bool level_of(const gpio_device *device, uint8_t number) {
  const gpio_line *line = &device->lines[number];
  uint8_t peer = device->wires[number];
  int own = driven(line);
  int other = peer == NO_WIRE ? -1 : driven(&device->lines[peer]);
  if (own >= 0) return own == 1;
  if (other >= 0) return other == 1;
  return line->pull == PULL_UP || (peer != NO_WIRE && device->lines[peer].pull == PULL_UP);
}

static void tell(cbp_endpoint *ep, uint8_t number, uint32_t at_us) {
  const gpio_line *line = &((gpio_device *)ep->config->device)->lines[number];
  const uint8_t data[4] = {number, line->level, 0, 0};
  if (line->edge & (line->level ? 1 : 2)) cbp_emit(ep, EDGE, at_us, data, sizeof data);
}

/* On a chip: the interrupt of the lines, with the same debouncing behind it. */
static void look(cbp_endpoint *ep, uint32_t now_us) {
  gpio_device *device = ep->config->device;
  for (uint8_t i = 0; i < GPIO_LINES; i++) {
    gpio_line *line = &device->lines[i];
    bool level = level_of(device, i);
    if (level == line->level) {
      line->changing = false;
      continue;
    }
    if (!line->changing) {
      line->changing = true;
      line->since_us = now_us;
    }
    if (now_us - line->since_us < line->debounce_us) continue;
    line->changing = false;
    line->level = level;
    tell(ep, i, line->since_us);
  }
}

static void write_lines(gpio_device *device, uint32_t mask, uint32_t values) {
  for (uint8_t i = 0; i < GPIO_LINES; i++)
    if (mask >> i & 1) device->lines[i].latch = values >> i & 1;
}

static void read_lines(cbp_endpoint *ep, uint32_t mask) {
  uint32_t levels = 0;
  uint8_t answer[4];
  for (uint8_t i = 0; i < GPIO_LINES; i++)
    if (mask >> i & 1) levels |= (uint32_t)level_of(ep->config->device, i) << i;
  cbp_put32(answer, levels);
  cbp_announce(ep, sizeof answer);
  cbp_write(ep, answer, sizeof answer);
}

static uint8_t configure(gpio_device *device, const uint8_t *body) {
  uint8_t number = body[0];
  if (number >= GPIO_LINES || body[1] > OPEN_DRAIN || body[2] > 2 || body[3] > 3 || body[6] > 1) return CBP_INVALID;
  if (body[7] > 1 && body[7] != KEEP) return CBP_INVALID;
  gpio_line *line = &device->lines[number];
  line->direction = body[1];
  line->pull = body[2];
  line->edge = body[3];
  line->debounce_us = cbp_get16(body + 4);
  line->latch = body[6] == 1;
  line->safe = body[7];
  /* The level that it has now is no edge. */
  line->level = level_of(device, number);
  line->changing = false;
  return CBP_OK;
}

static void step(cbp_endpoint *ep, uint32_t now_us) {
  static const uint16_t lengths[] = {[READ] = 4, [WRITE] = 8, [CONFIG] = 8};
  uint8_t body[8];
  uint8_t op = ep->current->op;
  if (op < READ || op > CONFIG) {
    cbp_finish(ep, CBP_UNSUPPORTED);
    return;
  }
  if (ep->current->body_length != lengths[op]) {
    cbp_finish(ep, CBP_INVALID);
    return;
  }
  /* The bodies are shorter than the shortest fragment: whole or not there. */
  if (cbp_write_room(ep) < 4) return;
  cbp_read(ep, body, lengths[op]);
  uint8_t status = CBP_OK;
  if (op == READ) read_lines(ep, cbp_get32(body));
  else if (op == WRITE) write_lines(ep->config->device, cbp_get32(body), cbp_get32(body + 4));
  else status = configure(ep->config->device, body);
  look(ep, now_us);
  cbp_finish(ep, status);
}

static void reset(cbp_endpoint *ep, uint32_t now_us) {
  gpio_device *device = ep->config->device;
  for (uint8_t i = 0; i < GPIO_LINES; i++) device->lines[i] = (gpio_line){.safe = KEEP};
  look(ep, now_us);
}

static void safe(cbp_endpoint *ep, uint32_t now_us) {
  gpio_device *device = ep->config->device;
  for (uint8_t i = 0; i < GPIO_LINES; i++)
    if (device->lines[i].direction != IN && device->lines[i].safe != KEEP) device->lines[i].latch = device->lines[i].safe;
  look(ep, now_us);
}

void gpio_init(gpio_device *device) {
  memset(device, 0, sizeof *device);
  memset(device->wires, NO_WIRE, sizeof device->wires);
}

void gpio_wire(gpio_device *device, uint8_t a, uint8_t b) {
  device->wires[a] = b;
  device->wires[b] = a;
}

const cbp_class gpio_class = {.step = step, .reset = reset, .safe = safe, .tick = look, .default_deadline_ms = 1000};
