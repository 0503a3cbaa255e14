#include "board.h"

#include <string.h>

#include "classes.h"

#define COUNT(array) ((uint8_t)(sizeof(array) / sizeof *(array)))
#define WIRED_PAIRS 8
#define EEPROM_BYTES 256
#define FLASH_BYTES 65536

/* ---- I2C: a memory with an address byte, as a 24C02 has it ---- */

typedef struct {
  uint8_t bytes[EEPROM_BYTES];
  uint8_t at;
  bool addressed;
} eeprom_state;

static bool eeprom_begin(void *state, bool read) {
  eeprom_state *e = state;
  e->addressed = read;
  return true;
}

static bool eeprom_write(void *state, uint8_t byte) {
  eeprom_state *e = state;
  if (e->addressed) e->bytes[e->at++] = byte;
  else e->at = byte;
  e->addressed = true;
  return true;
}

static uint8_t eeprom_read(void *state) {
  eeprom_state *e = state;
  return e->bytes[e->at++];
}

/* ---- counters: each read on I2C, each selection on SPI gives the next number, low byte first ---- */

typedef struct {
  uint32_t count;
  uint8_t byte;
} counter_state;

static void counter_select(void *state) {
  counter_state *c = state;
  c->count++;
  c->byte = 0;
}

static uint8_t counter_next(void *state) {
  counter_state *c = state;
  return c->byte < 4 ? (uint8_t)(c->count >> 8 * c->byte++) : 0;
}

static bool counter_begin(void *state, bool read) {
  if (read) counter_select(state);
  return true;
}

static bool counter_write(void *state, uint8_t byte) {
  (void)state;
  (void)byte;
  return false;
}

static uint8_t counter_exchange(void *state, uint8_t byte) {
  (void)byte;
  return counter_next(state);
}

/* ---- SPI: MISO wired to MOSI ---- */

static uint8_t loopback_exchange(void *state, uint8_t byte) {
  (void)state;
  return byte;
}

/* ---- SPI: a flash of 64 KiB that knows the five most common commands ---- */

enum { FLASH_PROGRAM = 0x02, FLASH_READ = 0x03, FLASH_STATUS = 0x05, FLASH_ENABLE = 0x06, FLASH_ID = 0x9F };

typedef struct {
  uint8_t bytes[FLASH_BYTES];
  uint8_t command;
  uint32_t position; /* bytes since the selection */
  uint32_t address;
  bool writable;
} flash_state;

static void flash_select(void *state) { ((flash_state *)state)->position = 0; }

static uint8_t flash_memory(flash_state *f, uint8_t byte) {
  uint8_t answer = 0xFF;
  if (f->position < 4) {
    f->address = f->address << 8 | byte;
    return answer;
  }
  uint8_t *cell = &f->bytes[f->address % FLASH_BYTES];
  if (f->command == FLASH_READ) {
    answer = *cell;
    f->address++;
  } else if (f->writable) {
    *cell &= byte;
    /* A page is 256 bytes and its end wraps to its start. */
    f->address = (f->address & ~0xFFu) | ((f->address + 1) & 0xFF);
  }
  return answer;
}

static uint8_t flash_exchange(void *state, uint8_t byte) {
  static const uint8_t id[] = {0xEF, 0x40, 0x10};
  flash_state *f = state;
  uint8_t answer = 0xFF;
  if (f->position == 0) {
    f->command = byte;
    f->address = 0;
  } else if (f->command == FLASH_ID) {
    answer = id[(f->position - 1) % sizeof id];
  } else if (f->command == FLASH_STATUS) {
    answer = f->writable ? 2 : 0;
  } else if (f->command == FLASH_READ || f->command == FLASH_PROGRAM) {
    answer = flash_memory(f, byte);
  }
  f->position++;
  return answer;
}

static void flash_deselect(void *state) {
  flash_state *f = state;
  if (f->command == FLASH_ENABLE) f->writable = true;
  else if (f->command == FLASH_PROGRAM) f->writable = false;
}

/* ---- the devices and their rings ---- */

static gpio_device gpio;
static eeprom_state eeprom;
static counter_state i2c_counter, spi_counter;
static flash_state flash;

static const i2c_target i2c_targets[] = {
    {0x50, &eeprom, eeprom_begin, eeprom_write, eeprom_read},
    {0x51, &i2c_counter, counter_begin, counter_write, counter_next},
};
static i2c_device i2c = {.targets = i2c_targets, .target_count = COUNT(i2c_targets)};

static const spi_target fast_targets[] = {
    {0, NULL, NULL, loopback_exchange, NULL},
    {1, &flash, flash_select, flash_exchange, flash_deselect},
    {2, &spi_counter, counter_select, counter_exchange, NULL},
};
static spix_device fast_spi = {.targets = fast_targets, .target_count = COUNT(fast_targets)};

static const spi_target slow_targets[] = {{0, NULL, NULL, loopback_exchange, NULL}};
static spix_device slow_spi = {.targets = slow_targets, .target_count = COUNT(slow_targets)};

static uint8_t sys_rx[512], sys_tx[512];
static uint8_t gpio_rx[256], gpio_tx[128], gpio_events[96];
static uint8_t i2c_rx[512], i2c_tx[512];
static uint8_t fast_rx[1024], fast_tx[1024];
static uint8_t slow_rx[1024], slow_tx[1024];

#define RINGS(name) .rx = name##_rx, .rx_window = sizeof name##_rx, .tx = name##_tx, .tx_size = sizeof name##_tx

static const cbp_endpoint_config endpoints[] = {
    {"sys", CBP_CLASS_SYS, CBP_PRIO_NORMAL, 4, 0, 1024, &cbp_sys, NULL, RINGS(sys), .events = NULL, .evq = 0},
    {"gpio0", CBP_CLASS_GPIO, CBP_PRIO_INTERACTIVE, 8, CBP_FLAG_EVENTS | CBP_FLAG_STORE | CBP_FLAG_SAFE, 64,
     &gpio_class, &gpio, RINGS(gpio), .events = gpio_events, .evq = sizeof gpio_events},
    {"i2c0", CBP_CLASS_I2C, CBP_PRIO_NORMAL, 4, CBP_FLAG_STORE, I2C_BYTES, &i2c_class, &i2c, RINGS(i2c),
     .events = NULL, .evq = 0},
    {"spi0", CBP_CLASS_SPIX, CBP_PRIO_BULK, 4, CBP_FLAG_STREAMING, 65536, &spix_class, &fast_spi, RINGS(fast),
     .events = NULL, .evq = 0},
    {"spi1", CBP_CLASS_SPIX, CBP_PRIO_BULK, 4, CBP_FLAG_STREAMING, 65536, &spix_class, &slow_spi, RINGS(slow),
     .events = NULL, .evq = 0},
};

static cbp_board board = {
    .endpoints = endpoints,
    .endpoint_count = COUNT(endpoints),
    .gap_us = 40,
    .khz = 8000,
    .watchdog_ms = 2000,
    .firmware = {1, 0, 0},
};

const cbp_board *board_init(void (*reboot)(uint8_t mode)) {
  gpio_init(&gpio);
  for (uint8_t i = 0; i < WIRED_PAIRS; i++) gpio_wire(&gpio, i, (uint8_t)(i + WIRED_PAIRS));
  memset(flash.bytes, 0xFF, sizeof flash.bytes);
  flash.writable = false;
  board.reboot = reboot;
  return &board;
}
