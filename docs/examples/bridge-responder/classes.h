/*
 * The classes of this example: GPIO, I2C and SPIX at their smallest, on simulated pins and targets. Firmware keeps the upper half of each file (bodies, checks, states) and
 * puts its registers, PIO programs and DMA where the device structures are used.
 */
#ifndef CBP_CLASSES_H
#define CBP_CLASSES_H

#include "cbp_core.h"

/* ---- GPIO ---- */

#define GPIO_LINES 32

typedef struct {
  uint8_t direction; /* 0 in, 1 out, 2 open drain */
  uint8_t pull;      /* 0 none, 1 up, 2 down */
  uint8_t edge;      /* 1 rise, 2 fall, 3 both */
  uint16_t debounce_us;
  uint8_t safe; /* 0, 1, 0xFF keep */
  bool latch;
  bool level; /* as it was last told or seen */
  bool changing;
  uint32_t since_us;
} gpio_line;

typedef struct {
  gpio_line lines[GPIO_LINES];
  /* Line i is wired to line wires[i]; 0xFF: to none. */
  uint8_t wires[GPIO_LINES];
} gpio_device;

extern const cbp_class gpio_class;
void gpio_init(gpio_device *device);
void gpio_wire(gpio_device *device, uint8_t a, uint8_t b);

/* ---- I2C ---- */

#define I2C_SEGMENTS 8
#define I2C_BYTES 512

typedef struct {
  uint8_t address;
  void *state;
  bool (*begin)(void *state, bool read);
  bool (*write)(void *state, uint8_t byte);
  uint8_t (*read)(void *state);
} i2c_target;

typedef struct {
  const i2c_target *targets;
  uint8_t target_count;
  uint32_t hz;
  bool stuck;
  /* The request that runs: its body, then the answer of the bus. */
  uint8_t body[4 + 2 * I2C_SEGMENTS + I2C_BYTES];
  bool clocking;
  uint32_t done_us;
} i2c_device;

extern const cbp_class i2c_class;

/* ---- SPIX ---- */

#define SPIX_ATOMIC 256

typedef struct {
  uint8_t cs;
  void *state;
  void (*select)(void *state);
  uint8_t (*exchange)(void *state, uint8_t byte);
  void (*deselect)(void *state);
} spi_target;

typedef struct {
  const spi_target *targets;
  uint8_t target_count;
  /* The transfer that runs. */
  const spi_target *target;
  bool selected;
  bool kept; /* the last transfer left CS asserted */
  uint8_t flags;
  uint32_t speed_hz, clk_len, rx_len, tx_len;
  uint32_t clocked;
  uint8_t buffer[SPIX_ATOMIC];
  uint16_t buffered;
  /* Bytes are due by the time since then. */
  uint32_t since_us;
  uint32_t since_bytes;
} spix_device;

extern const cbp_class spix_class;

#endif
