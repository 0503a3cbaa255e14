/* The codec on its own, for test vectors: `N HEX` a line on the input, one line of words on the output: what it read, and the same packet written again in hex. */
#include <stdio.h>
#include <string.h>

#include "cbp_wire.h"

#define LONGEST 1024

static size_t from_hex(const char *text, uint8_t *out) {
  size_t count = 0;
  unsigned byte;
  while (count < LONGEST && sscanf(text + 2 * count, "%2x", &byte) == 1) out[count++] = (uint8_t)byte;
  return count;
}

/* Writes the packet anew from what was read of it. */
static void rewrite(const cbp_packet *packet, size_t n) {
  uint8_t payload[LONGEST], out[LONGEST];
  cbp_packet again = *packet;
  cbp_frame frame;
  size_t at = 0, used = 0;
  while (cbp_next_frame(packet->payload, packet->length, &at, &frame)) {
    cbp_put_frame(payload + used, &frame);
    if ((frame.type == CBP_HELLO || frame.type == CBP_HELLO_ACK) && frame.length == CBP_HELLO_BODY) {
      cbp_hello hello;
      cbp_get_hello(frame.body, &hello);
      cbp_put_hello(payload + used + CBP_FRAME_HEAD, &hello);
    } else {
      memcpy(payload + used + CBP_FRAME_HEAD, frame.body, frame.length);
    }
    used += CBP_FRAME_HEAD + (size_t)frame.length;
    printf(" frame:%u:%u:%u:%u:%u:%u:%u", frame.type, frame.fin, frame.ep, frame.rid, frame.op, frame.aux, frame.length);
  }
  again.payload = payload;
  again.length = (uint16_t)used;
  cbp_seal(&again, out, n);
  printf(" ");
  for (size_t i = 0; i < n; i++) printf("%02x", out[i]);
}

int main(void) {
  static const char *const verdicts[] = {"good", "magic", "version", "length", "crc", "frame"};
  static char hex[2 * LONGEST + 1];
  uint8_t bytes[LONGEST];
  unsigned n;
  while (scanf("%u %2048s", &n, hex) == 2) {
    cbp_packet packet;
    size_t count = from_hex(hex, bytes);
    if (n != count || n > LONGEST) {
      printf("not %u bytes\n", n);
      continue;
    }
    cbp_verdict verdict = cbp_open(bytes, count, &packet);
    printf("%s", verdicts[verdict]);
    if (verdict == CBP_GOOD) {
      printf(" %u:%u:%u:%u:%u:%04x", packet.data, packet.more, packet.rst, packet.seq, packet.ack, packet.sid);
      rewrite(&packet, n);
    }
    printf("\n");
  }
  return 0;
}
