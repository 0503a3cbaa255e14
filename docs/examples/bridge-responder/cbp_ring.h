/* A ring of bytes in memory that belongs to one endpoint. */
#ifndef CBP_RING_H
#define CBP_RING_H

#include "cbp_core.h"

static inline uint16_t cbp_ring_room(const cbp_ring *ring) { return (uint16_t)(ring->size - ring->used); }

static inline uint16_t cbp_ring_at(const cbp_ring *ring, uint16_t offset) {
  return (uint16_t)(((uint32_t)ring->tail + offset) % ring->size);
}

static inline void cbp_ring_push(cbp_ring *ring, const uint8_t *bytes, uint16_t count) {
  for (uint16_t i = 0; i < count; i++) ring->bytes[cbp_ring_at(ring, (uint16_t)(ring->used + i))] = bytes[i];
  ring->used = (uint16_t)(ring->used + count);
}

static inline void cbp_ring_peek(const cbp_ring *ring, uint16_t offset, uint8_t *out, uint16_t count) {
  for (uint16_t i = 0; i < count; i++) out[i] = ring->bytes[cbp_ring_at(ring, (uint16_t)(offset + i))];
}

static inline void cbp_ring_drop(cbp_ring *ring, uint16_t count) {
  if (count == 0) return;
  ring->tail = cbp_ring_at(ring, count);
  ring->used = (uint16_t)(ring->used - count);
}

#endif
