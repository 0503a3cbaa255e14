/*
 * CBP on the wire: packets and frames (docs/cbp.md, "Packet" and "Frames"). No state, no operating system, no allocation.
 */
#ifndef CBP_WIRE_H
#define CBP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  CBP_MAGIC = 0xCB,
  CBP_VERSION = 1,
  CBP_HEAD = 8,
  CBP_CRC = 4,
  CBP_OVERHEAD = CBP_HEAD + CBP_CRC,
  CBP_FRAME_HEAD = 8,
  CBP_HELLO_BODY = 28,
  CBP_BRING_UP_BYTES = 64,
  CBP_MIN_FRAGMENT = 16
};

/* Bits of the packet's second byte. */
enum { CBP_DATA_BIT = 1, CBP_MORE_BIT = 2, CBP_RST_BIT = 4 };

/* Frame types. */
enum {
  CBP_PAD = 0,
  CBP_REQ = 1,
  CBP_RSP = 2,
  CBP_DATA = 3,
  CBP_EVT = 4,
  CBP_CREDIT = 5,
  CBP_CANCEL = 6,
  CBP_HELLO = 7,
  CBP_HELLO_ACK = 8,
  CBP_PING = 9,
  CBP_PONG = 10,
  CBP_GOAWAY = 11,
  CBP_FIRST_EXTENSION = 12
};

/* The reason of a CANCEL that gives back what has not begun; 0 and 1 stop whatever it is. */
enum { CBP_CANCEL_RECALL = 2 };

/* Bits of a frame's first byte. */
enum { CBP_TYPE_MASK = 0x0F, CBP_FIN_BIT = 0x10 };

/* Status of a response. */
enum {
  CBP_OK = 0x00,
  CBP_CANCELLED = 0x01,
  CBP_TIMEOUT = 0x02,
  CBP_INVALID = 0x03,
  CBP_UNSUPPORTED = 0x04,
  CBP_NO_ENDPOINT = 0x05,
  CBP_BUSY = 0x06,
  CBP_TOO_BIG = 0x07,
  CBP_IO_ERROR = 0x08,
  CBP_NACK = 0x09,
  CBP_BUS_STUCK = 0x0A,
  CBP_BAD_SPEED = 0x0C,
  CBP_BAD_MODE = 0x0D
};

typedef struct {
  bool data;
  bool more;
  bool rst;
  uint8_t seq;
  uint8_t ack;
  uint16_t sid;
  /* Payload: a view into the bytes that were opened, or what is to be sealed. */
  const uint8_t *payload;
  uint16_t length;
} cbp_packet;

typedef struct {
  uint8_t type;
  bool fin;
  uint8_t ep;
  uint16_t rid;
  uint8_t op;
  uint8_t aux;
  const uint8_t *body;
  uint16_t length;
} cbp_frame;

/* The check that bytes failed, in the order of the checks. */
typedef enum {
  CBP_GOOD,
  CBP_BAD_MAGIC,
  CBP_BAD_VERSION,
  CBP_BAD_LENGTH,
  CBP_BAD_CRC,
  CBP_BAD_FRAME
} cbp_verdict;

typedef struct {
  uint32_t nonce;
  uint16_t n;
  uint8_t window;
  uint8_t rx_reorder;
  uint16_t gap_us;
  uint8_t ack_delay;
  uint8_t ep_count;
  uint16_t hb_ms;
  uint16_t khz;
  uint32_t boot_id;
  uint32_t table_crc;
  uint8_t fw[4];
} cbp_hello;

uint16_t cbp_get16(const uint8_t *at);
uint32_t cbp_get32(const uint8_t *at);
void cbp_put16(uint8_t *at, uint16_t value);
void cbp_put32(uint8_t *at, uint32_t value);

/* CRC-32/ISO-HDLC; start with crc = 0 and hand the result back in to go on. */
uint32_t cbp_crc32(uint32_t crc, const uint8_t *bytes, size_t count);

/* Opens the bytes of one transaction. `packet` is filled only when they are good. */
cbp_verdict cbp_open(const uint8_t *bytes, size_t count, cbp_packet *packet);

/* Writes a packet of exactly n bytes; the payload fits. It may lie where it belongs already, at out + CBP_HEAD. */
void cbp_seal(const cbp_packet *packet, uint8_t *out, size_t n);

/* The frame at *at of a payload that cbp_open found good; moves *at on. False: there is no further one. */
bool cbp_next_frame(const uint8_t *payload, size_t length, size_t *at, cbp_frame *frame);

/* Writes the eight bytes of a frame's head. */
void cbp_put_frame(uint8_t *at, const cbp_frame *frame);

void cbp_put_hello(uint8_t *at, const cbp_hello *hello);
void cbp_get_hello(const uint8_t *at, cbp_hello *hello);

#endif
