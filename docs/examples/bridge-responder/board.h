/* What is behind this bridge: pins wired in pairs, an I2C memory and a counter, two SPI buses. All of it is simulated and static. */
#ifndef CBP_EXAMPLE_BOARD_H
#define CBP_EXAMPLE_BOARD_H

#include "cbp_core.h"

/* The board, with every device as after power-on. */
const cbp_board *board_init(void (*reboot)(uint8_t mode));

#endif
