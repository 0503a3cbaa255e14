#include "cbp_wire.h"

#include <string.h>

uint16_t cbp_get16(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }

uint32_t cbp_get32(const uint8_t *at) { return (uint32_t)cbp_get16(at) | (uint32_t)cbp_get16(at + 2) << 16; }

void cbp_put16(uint8_t *at, uint16_t value) {
  at[0] = (uint8_t)value;
  at[1] = (uint8_t)(value >> 8);
}

void cbp_put32(uint8_t *at, uint32_t value) {
  cbp_put16(at, (uint16_t)value);
  cbp_put16(at + 2, (uint16_t)(value >> 16));
}

/* Four bits a step: sixteen words of table. A chip with a CRC unit in its DMA leaves this function out. */
uint32_t cbp_crc32(uint32_t crc, const uint8_t *bytes, size_t count) {
  static const uint32_t table[16] = {
      0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
      0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
  };
  crc = ~crc;
  while (count-- > 0) {
    crc ^= *bytes++;
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}

/* Every frame ends inside the payload. */
static bool frames_fit(const uint8_t *payload, size_t length) {
  size_t at = 0;
  while (at < length && (payload[at] & CBP_TYPE_MASK) != CBP_PAD) {
    if (length - at < CBP_FRAME_HEAD) return false;
    size_t body = cbp_get16(payload + at + 4);
    if (length - at - CBP_FRAME_HEAD < body) return false;
    at += CBP_FRAME_HEAD + body;
  }
  return true;
}

cbp_verdict cbp_open(const uint8_t *bytes, size_t count, cbp_packet *packet) {
  if (count < CBP_OVERHEAD || bytes[0] != CBP_MAGIC) return CBP_BAD_MAGIC;
  if (bytes[1] >> 4 != CBP_VERSION) return CBP_BAD_VERSION;
  size_t length = cbp_get16(bytes + 6);
  if (length > count - CBP_OVERHEAD) return CBP_BAD_LENGTH;
  if (cbp_crc32(0, bytes, CBP_HEAD + length) != cbp_get32(bytes + CBP_HEAD + length)) return CBP_BAD_CRC;
  if (!frames_fit(bytes + CBP_HEAD, length)) return CBP_BAD_FRAME;
  packet->data = (bytes[1] & CBP_DATA_BIT) != 0;
  packet->more = (bytes[1] & CBP_MORE_BIT) != 0;
  packet->rst = (bytes[1] & CBP_RST_BIT) != 0;
  packet->seq = bytes[2];
  packet->ack = bytes[3];
  packet->sid = cbp_get16(bytes + 4);
  packet->payload = bytes + CBP_HEAD;
  packet->length = (uint16_t)length;
  return CBP_GOOD;
}

void cbp_seal(const cbp_packet *packet, uint8_t *out, size_t n) {
  size_t end = CBP_HEAD + (size_t)packet->length;
  if (packet->length > 0 && packet->payload != out + CBP_HEAD) memmove(out + CBP_HEAD, packet->payload, packet->length);
  out[0] = CBP_MAGIC;
  out[1] = (uint8_t)(CBP_VERSION << 4 | (packet->data ? CBP_DATA_BIT : 0) | (packet->more ? CBP_MORE_BIT : 0) |
                     (packet->rst ? CBP_RST_BIT : 0));
  out[2] = packet->seq;
  out[3] = packet->ack;
  cbp_put16(out + 4, packet->sid);
  cbp_put16(out + 6, packet->length);
  cbp_put32(out + end, cbp_crc32(0, out, end));
  memset(out + end + CBP_CRC, 0, n - end - CBP_CRC);
}

bool cbp_next_frame(const uint8_t *payload, size_t length, size_t *at, cbp_frame *frame) {
  if (*at >= length) return false;
  const uint8_t *head = payload + *at;
  frame->type = head[0] & CBP_TYPE_MASK;
  if (frame->type == CBP_PAD) return false;
  frame->fin = (head[0] & CBP_FIN_BIT) != 0;
  frame->ep = head[1];
  frame->rid = cbp_get16(head + 2);
  frame->length = cbp_get16(head + 4);
  frame->op = head[6];
  frame->aux = head[7];
  frame->body = head + CBP_FRAME_HEAD;
  *at += CBP_FRAME_HEAD + (size_t)frame->length;
  return true;
}

void cbp_put_frame(uint8_t *at, const cbp_frame *frame) {
  at[0] = (uint8_t)(frame->type | (frame->fin ? CBP_FIN_BIT : 0));
  at[1] = frame->ep;
  cbp_put16(at + 2, frame->rid);
  cbp_put16(at + 4, frame->length);
  at[6] = frame->op;
  at[7] = frame->aux;
}

void cbp_put_hello(uint8_t *at, const cbp_hello *hello) {
  cbp_put32(at, hello->nonce);
  cbp_put16(at + 4, hello->n);
  at[6] = hello->window;
  at[7] = hello->rx_reorder;
  cbp_put16(at + 8, hello->gap_us);
  at[10] = hello->ack_delay;
  at[11] = hello->ep_count;
  cbp_put16(at + 12, hello->hb_ms);
  cbp_put16(at + 14, hello->khz);
  cbp_put32(at + 16, hello->boot_id);
  cbp_put32(at + 20, hello->table_crc);
  memcpy(at + 24, hello->fw, 4);
}

void cbp_get_hello(const uint8_t *at, cbp_hello *hello) {
  hello->nonce = cbp_get32(at);
  hello->n = cbp_get16(at + 4);
  hello->window = at[6];
  hello->rx_reorder = at[7];
  hello->gap_us = cbp_get16(at + 8);
  hello->ack_delay = at[10];
  hello->ep_count = at[11];
  hello->hb_ms = cbp_get16(at + 12);
  hello->khz = cbp_get16(at + 14);
  hello->boot_id = cbp_get32(at + 16);
  hello->table_crc = cbp_get32(at + 20);
  memcpy(hello->fw, at + 24, 4);
}
