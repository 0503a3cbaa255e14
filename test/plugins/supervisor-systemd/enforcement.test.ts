/** Walls that the kernel enforces for guests, and the reasons where it does not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { enforcementOf } from '../../../plugins/apps/supervisor-systemd/enforcement.ts';

describe('profiles of AppArmor', () => {
  const here = (path: string) => ({ [path]: `${path} is missing` });

  test('are enforced where the kernel and the parser are there', () => {
    const { enforced, reasons } = enforcementOf(undefined, here('/'));
    assert.equal(enforced.mac, 'kernel');
    assert.equal(reasons.mac, undefined);
  });

  test('are not without one of them, and the report names it', () => {
    const { enforced, reasons } = enforcementOf(undefined, { ...here('/'), ...here('/nowhere/at/all') });
    assert.equal(enforced.mac, 'none');
    assert.equal(reasons.mac, '/nowhere/at/all is missing');
  });
});
