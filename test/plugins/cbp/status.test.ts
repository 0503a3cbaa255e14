import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { STATUS, type StatusName, statusError, statusName } from '../../../plugins/hardware/cbp/status.ts';

const CODES = {
  CANCELLED: 'CANCELLED',
  TIMEOUT: 'TIMEOUT',
  INVALID: 'BRIDGE_FAILED',
  UNSUPPORTED: 'BRIDGE_FAILED',
  NO_ENDPOINT: 'BRIDGE_FAILED',
  BUSY: 'BRIDGE_FAILED',
  TOO_BIG: 'BRIDGE_FAILED',
  IO_ERROR: 'BRIDGE_FAILED',
  NACK: 'BRIDGE_FAILED',
  BUS_STUCK: 'BRIDGE_FAILED',
  BUS_OFF: 'BRIDGE_FAILED',
  BAD_SPEED: 'BRIDGE_FAILED',
  BAD_MODE: 'BRIDGE_FAILED',
  NO_MEMORY: 'BRIDGE_FAILED',
  NOT_READY: 'BRIDGE_FAILED',
  OVERRUN: 'BRIDGE_FAILED',
  DENIED: 'BRIDGE_FAILED',
  LINK_RESET: 'BRIDGE_FAILED',
  LINK_DOWN: 'NOT_INITIALIZED',
} as const satisfies Record<Exclude<StatusName, 'OK'>, string>;

describe('status table', () => {
  for (const [name, code] of Object.entries(CODES)) {
    it(`reports ${name} as ${code}`, () => {
      const number = STATUS[name as StatusName];
      assert.equal(statusName(number), name);
      const error = statusError(number, { endpoint: 'spi0', what: 'a transfer', deadlineMs: 20 });
      assert.equal(error.code, code);
      assert.equal(error.details.status, name);
    });
  }

  it('names a status that it does not know by its number', () => {
    const error = statusError(0x2a, { endpoint: 'spi0', what: 'a transfer', deadlineMs: 20 });
    assert.equal(error.message, 'bridge endpoint spi0 answered 0x2A');
  });
});
