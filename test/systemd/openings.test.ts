/** Openings of the service's unit and profile that a SKU needs. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SkuManifest } from '@device-core/plugin-api';
import { dropInOf, needsOf, profileLinesOf } from '../../plugins/life/systemd/program/sku-needs.ts';
import { wardenConfigOf } from '../../plugins/life/systemd/program/warden-config.ts';

const VALUES = { service: 'device', prefix: '/usr/lib/device' };

describe('openings of a SKU', () => {
  const of = (plugins: Record<string, object | string>, reaches: readonly string[] = []) =>
    dropInOf(
      needsOf({ skuVersion: 1, id: 'x', title: 'x', plugins } as never, (id) => reaches.includes(id)),
      'x',
    );

  test('is nothing, for one without hardware', () => {
    assert.equal(
      of({ cli: '^1.0.0' }),
      '# What SKU x needs beyond the unit. Made by devicectl system install.\n[Service]\n',
    );
  });

  test('is a way out for updates where it says where they come from, and none for an updater alone', () => {
    const url = 'https://updates.example.com/kiosk/';
    assert.doesNotMatch(of({ updater: '^1.0.0' }, ['updater']), /IPAddressAllow/);
    assert.match(
      of({ updater: { version: '^1.0.0', config: { url } } }, ['updater']),
      /Plugin updater reaches[^\n]*\nIPAddressAllow=any/,
    );
  });

  test('is its panel and its fingers, the nodes of the SKU or the usual ones', () => {
    const text = of({
      'panel-drm': '^1.0.0',
      'panel-fbdev': { version: '^1.0.0', config: { device: '/dev/fb1' } },
      'input-evdev': { version: '^1.0.0', config: { devices: [] } },
    });
    for (const line of [
      'DeviceAllow=/dev/dri/card0 rw',
      'DeviceAllow=/dev/fb1 rw',
      'DeviceAllow=char-input rw',
      'SupplementaryGroups=input video',
    ])
      assert.ok(text.split('\n').includes(line), `${line} in ${text}`);
  });

  test('is its wire, its lines, its sound and the network, each by name', () => {
    const text = of(
      {
        'port-spidev': {
          version: '^1.0.0',
          config: { device: '/dev/spidev0.0', dataReady: { chip: 'gpiochip0', line: 25 } },
        },
        'audio-alsa': '^1.0.0',
        'stt-cloud': '^1.0.0',
      },
      ['stt-cloud'],
    );
    for (const line of [
      'PrivateDevices=no',
      'DeviceAllow=/dev/spidev0.0 rw',
      'DeviceAllow=/dev/gpiochip0 rw',
      'DeviceAllow=char-alsa rw',
      'SupplementaryGroups=audio gpio spi',
      'IPAddressAllow=any',
    ])
      assert.ok(text.split('\n').includes(line), `${line} in ${text}`);
  });

  test('is the nodes of the buses of the host that it lists, and no others', () => {
    const listed = (member: string, path: string) => ({
      version: '^1.0.0',
      config: { [member]: [{ name: 'one', path }] },
    });
    const text = of({
      'host-i2c': listed('buses', '/dev/i2c-1'),
      'host-spi': listed('buses', '/dev/spidev0.1'),
      'host-gpio': listed('chips', '/dev/gpiochip2'),
      'host-uart': listed('lines', '/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0'),
      'host-can': listed('interfaces', 'can0'),
    });
    assert.deepEqual(
      text.split('\n').filter((line) => /^(DeviceAllow|Supplementary|Restrict)/.test(line)),
      [
        'DeviceAllow=/dev/gpiochip2 rw',
        'DeviceAllow=/dev/i2c-1 rw',
        'DeviceAllow=/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0 rw',
        'DeviceAllow=/dev/spidev0.1 rw',
        'SupplementaryGroups=dialout gpio i2c spi',
        'RestrictAddressFamilies=AF_CAN',
      ],
    );
    assert.doesNotMatch(of({ 'host-i2c': { version: '^1.0.0', config: { buses: [] } } }), /Device|Groups/);
    const manifest = {
      skuVersion: 1,
      id: 'x',
      title: 'x',
      plugins: { 'host-uart': listed('lines', '/dev/serial0'), 'host-can': listed('interfaces', 'can0') },
    } as unknown as SkuManifest;
    const profile = profileLinesOf(
      manifest,
      needsOf(manifest, () => false),
    ).split('\n');
    assert.deepEqual(profile.slice(1), ['"/dev/serial0" rw,', '/dev/tty[A-Z]*[0-9] rw,', 'network can,', '']);
    assert.throws(() => of({ 'host-uart': listed('lines', '/dev/x y') }), /no device node/);
  });

  test('is nothing of a plugin that is switched off', () => {
    const config = { device: '/dev/spidev0.0' };
    assert.doesNotMatch(of({ 'port-spidev': { version: '^1.0.0', enabled: false, config } }), /spidev/);
  });

  test('is never a path that is no node', () => {
    for (const device of ['/etc/shadow', '/dev/../etc', '/dev/x rw\nUser=root', undefined])
      assert.throws(() => of({ 'port-spidev': { version: '^1.0.0', config: { device } } }), /no device node/);
  });

  test('is told to the warden: nodes, ceilings and folders of apps', () => {
    const nodes = { camera: { path: '/dev/video0', access: 'rw', group: 'video' } };
    const config = { nodes, ceilings: { memoryMaxMB: 256 }, folders: ['/srv/apps/agenda', 'beside'] };
    const plugins = { apps: { version: '^1.0.0', config } };
    const made = wardenConfigOf(
      { skuVersion: 1, id: 'x', title: 'x', plugins },
      VALUES,
      '/usr/lib/device/node',
    ) as Record<string, unknown>;
    assert.deepEqual(made.nodes, nodes);
    assert.deepEqual(made.ceilings, { memoryMaxMB: 256 });
    assert.deepEqual(made.code, [
      '/var/lib/device/app-store',
      '/var/lib/device/apps',
      '/var/lib/device/plugins',
      '/usr/lib/device/plugins',
      '/usr/lib/device/apps',
      '/srv/apps',
    ]);
  });
});
