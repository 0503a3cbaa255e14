/** The system endpoint, class 0x00 (cbp.md section 10). */

export const SYS = {
  ENUM: 0x01,
  NAME: 0x02,
  STATS: 0x03,
  EP_STATS: 0x04,
  EP_RESET: 0x05,
  ECHO: 0x06,
  REBOOT: 0x07,
} as const;
