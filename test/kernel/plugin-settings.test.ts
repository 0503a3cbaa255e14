/** What was set on the device for plugins, laid over the SKU before anything runs. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { parsePluginSettings, pluginSettingsFile } from '@device-core/plugin-api/inside/plugin-settings';
import fc from 'fast-check';
import { resolveSku } from '../../kernel/boot/check.ts';
import { runs } from '../fixtures/runs.ts';

const SKU = join(import.meta.dirname, '../../manifests/skus/simulator.yaml');
const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function resolved(text: string | undefined, settings: Parameters<typeof resolveSku>[1] = []) {
  const state = mkdtempSync(join(tmpdir(), 'plugin-settings-'));
  folders.push(state);
  mkdirSync(join(state, 'plugins'));
  if (text !== undefined) writeFileSync(pluginSettingsFile(state), text);
  const { plugins, problems, settings: told = [] } = resolveSku(SKU, settings, state);
  const of = (id: string) => ({ ...told.find((one) => one.id === id) });
  const config = (id: string) => plugins.find((one) => one.id === id)?.config as Record<string, unknown>;
  const about = problems.filter(({ file }) => file.endsWith('settings.json'));
  return { of, config, about, fatal: problems.filter(({ stops }) => stops === 'core') };
}

const laid = (plugins: object, format = 1) => JSON.stringify({ format, plugins });

suite('settings of plugins that the device holds', () => {
  test('they stand over the SKU and below the command line, and what the SKU says is still told', () => {
    const { config, of, about } = resolved(laid({ display: { dimMs: 5000, 'night.from': '20:15' } }));
    assert.deepEqual(about, []);
    assert.equal(config('display').dimMs, 5000);
    assert.equal((config('display').night as { from: string }).from, '20:15');
    assert.equal((of('display').given as { dimMs: number }).dimMs, 86_400_000);
    assert.equal((of('display').inForce as { dimMs: number }).dimMs, 5000);
    const line = [{ plugin: 'display', key: 'dimMs', value: 7000 }];
    assert.equal(resolved(laid({ display: { dimMs: 5000 } }), line).config('display').dimMs, 7000);
  });

  test('trust, programs and addresses of a device stay those of the SKU, for any writer of the file', () => {
    const settings = {
      apps: { insecure: false, developer: 'nobody' },
      'plugin-store': { trustedKeys: ['mine'], probationMs: 61_000 },
      'port-sim': { command: '/bin/sh' },
      http: { port: 1 },
    };
    const { config, about, fatal } = resolved(laid(settings));
    assert.deepEqual(fatal, []);
    assert.deepEqual(
      about
        .map(({ message }) => /^what was set for (\S+) is left out: the SKU alone decides this$/.exec(message)?.[1])
        .toSorted(),
      ['apps.developer', 'apps.insecure', 'http.port', 'plugin-store.trustedKeys', 'port-sim.command'],
    );
    assert.equal(config('apps').insecure, true);
    assert.equal(config('apps').developer, 'operator');
    assert.equal(config('plugin-store').probationMs, 61_000);
    assert.notEqual(config('port-sim').command, '/bin/sh');
  });

  const left: readonly (readonly [what: string, text: string, code: string])[] = [
    ['a value that does not fit any more', laid({ display: { dimMs: 1 } }), 'CONFIG_VALUE_INVALID'],
    ['a member that is gone', laid({ display: { former: true } }), 'CONFIG_VALUE_INVALID'],
    ['half a file', '{"format":1,"plug', 'STATE_CORRUPT'],
    ['a list', '[]', 'STATE_CORRUPT'],
    ['members that are no map', laid({ display: 7 }), 'STATE_CORRUPT'],
    ['a way into a prototype', '{"format":1,"plugins":{"display":{"__proto__.x":1}}}', 'STATE_CORRUPT'],
    ['a plugin of no possible name', laid({ '../x': {} }), 'STATE_CORRUPT'],
    ['the form of a newer Core', laid({}, 2), 'STATE_NEWER'],
  ];
  for (const [what, text, code] of left)
    test(`${what} is told and left out, and the device starts`, () => {
      const { config, about, fatal } = resolved(text);
      assert.equal(config('display').dimMs, 86_400_000);
      assert.deepEqual(
        about.map((one) => [one.code, one.stops]),
        [[code, 'nothing']],
      );
      assert.deepEqual(fatal, []);
      assert.equal(({} as { x?: number }).x, undefined);
    });

  test('plugins that are not there, and plugins without configuration, are passed over', () => {
    assert.deepEqual(resolved(laid({ none: { a: 1 } })).fatal, []);
    assert.deepEqual(resolved(undefined).about, []);
  });

  test('any file is read or refused with a reason', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.jsonValue().map((plugins) => laid(plugins as object)),
        ),
        (text) => {
          try {
            for (const members of Object.values(parsePluginSettings(text, 'f'))) assert.equal(typeof members, 'object');
          } catch (error) {
            assert.match(String((error as { code?: string }).code), /^STATE_(CORRUPT|NEWER)$/);
          }
        },
      ),
      { numRuns: runs(1000) },
    );
  });
});
