import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { machineOf } from '../../../systemd/helpers/slots/machine.ts';

after(leakCheck());

test('the device is ended by the orders of systemd, and safe mode is a file for one start', () => {
  const system = mkdtempSync(join(tmpdir(), 'machine-'));
  try {
    mkdirSync(join(system, 'boot'));
    const told: number[] = [];
    const machine = machineOf(system, { manager: system, tell: (signal) => void told.push(signal) });
    machine.reboot();
    machine.powerOff();
    // SIGRTMIN+5 and SIGRTMIN+4 of systemd(1), where SIGRTMIN is 34.
    assert.deepEqual(told, [39, 38]);
    machine.safeMode();
    machine.safeMode();
    assert.deepEqual(readdirSync(join(system, 'boot')), ['safe-mode']);
    const without = machineOf(system, { manager: join(system, 'nowhere'), tell: (signal) => void told.push(signal) });
    assert.throws(() => without.reboot(), { code: 'SLOTS_UNAVAILABLE' });
    assert.equal(told.length, 2);
  } finally {
    rmSync(system, { recursive: true });
  }
});
