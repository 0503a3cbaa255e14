/** Classes of endpoints (docs/cbp.md section 11). */
export const ENDPOINT_CLASS = { gpio: 0x01, i2c: 0x02, spix: 0x03, uart: 0x04, pio: 0x05, can: 0x06 } as const;
