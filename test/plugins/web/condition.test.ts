/** Which faults the pages count: one list for all of them, and none for plugins that start, stop or wait for those. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Health, Plugin } from '../../../plugins/interface/web/ui/parts/shapes.ts';
import { pageGlobals } from './page-globals.ts';

const SINCE = 1_000;
const plugin = (id: string, state: Plugin['state'], more: Partial<Plugin> = {}): Plugin => ({
  id,
  version: '1.0.0',
  summary: '',
  state,
  isolation: 'inline',
  essential: false,
  since: SINCE,
  generation: 1,
  ...more,
});
type Said = Health['components'][string];
const healthOf = (components: Readonly<Record<string, Said>>, warnings: Health['warnings'] = []): Health => ({
  ok: true,
  status: 'ok',
  components,
  bridge: { link: 'up' },
  uptimeMs: 1,
  ...(warnings.length > 0 && { warnings }),
});

describe('reasons for attention', () => {
  let condition: typeof import('../../../plugins/interface/web/ui/parts/condition.ts');
  before(async () => {
    pageGlobals();
    condition = await import('../../../plugins/interface/web/ui/parts/condition.ts');
  });
  const found = (plugins: readonly Plugin[], health = healthOf({})) =>
    condition.troublesOf(condition.rowsOf(plugins, health), health).map(({ id, level, action }) => [id, level, action]);

  test('is nothing where plugins run, are off on purpose, or are on their way', () => {
    const quiet: readonly (readonly [string, readonly Plugin[], Health?])[] = [
      ['all run', [plugin('a', 'active')]],
      ['one is off', [plugin('a', 'active'), plugin('b', 'stopped')]],
      ['one starts, and others wait', [plugin('a', 'starting'), plugin('b', 'waiting'), plugin('c', 'waiting')]],
      ['one stops, and others wait', [plugin('a', 'stopping'), plugin('b', 'waiting')]],
      [
        'one waits for what starts',
        [plugin('a', 'starting'), plugin('b', 'active')],
        healthOf({ b: { status: 'waiting' } }),
      ],
      [
        'one starts, and another complains',
        [plugin('a', 'starting'), plugin('b', 'active')],
        healthOf({ b: { status: 'error', since: SINCE } }),
      ],
      ['the health is older', [plugin('a', 'active')], healthOf({ a: { status: 'waiting', since: SINCE - 1 } })],
      ['the health is older, and bad', [plugin('a', 'active')], healthOf({ a: { status: 'error', since: SINCE - 1 } })],
      ['the plugins are older', [plugin('a', 'active')], healthOf({ a: { status: 'blocked', since: SINCE + 1 } })],
      [
        'a renderer is not there yet',
        [plugin('a', 'active'), plugin('b', 'starting')],
        healthOf({}, [{ code: 'RENDERER_PROBLEM', message: 'soft paints, not skia: it is not there' }]),
      ],
      ['what a plugin costs', [plugin('a', 'active')], healthOf({}, [{ code: 'STALL', message: 'plugin a' }])],
    ];
    for (const [what, plugins, health] of quiet) assert.deepEqual(found(plugins, health), [], what);
  });

  test('is only what failed for a while after plugins moved', () => {
    const plugins = [plugin('a', 'active'), plugin('b', 'waiting'), plugin('c', 'quarantined')];
    const health = healthOf({ a: { status: 'error', since: SINCE } }, [{ code: 'X', message: 'x' }]);
    const ids = (calm: boolean) =>
      condition.troublesOf(condition.rowsOf(plugins, health, calm), health).map(({ id }) => id);
    assert.deepEqual([ids(false), ids(true)], [['c'], ['a', 'c', 'b', 'X 0']]);
  });

  test('is each plugin that waits for nothing that comes, failed or says so, and each warning, with where to look', () => {
    const cases: readonly (readonly [readonly Plugin[], Health, readonly (readonly string[])[]])[] = [
      [[plugin('a', 'active'), plugin('b', 'waiting')], healthOf({}), [['b', 'warn', 'Open b']]],
      [[plugin('a', 'failed'), plugin('b', 'starting')], healthOf({}), [['a', 'error', 'Open a']]],
      [[plugin('a', 'stopped', { essential: true })], healthOf({}), [['a', 'quiet', 'Open a']]],
      [[plugin('a', 'active')], healthOf({ a: { status: 'error', since: SINCE + 5 } }), [['a', 'error', 'Open a']]],
      [[plugin('a', 'active')], healthOf({ a: { status: 'blocked', since: SINCE } }), [['a', 'warn', 'Open a']]],
      [
        [],
        healthOf({ 'system.storage': { status: 'error' } }, [
          { code: 'APP_TRIED', message: 'one' },
          { code: 'APP_TRIED', message: 'two' },
          { code: 'GLYPHS_MISSING', message: 'three' },
        ]),
        [
          ['system.storage', 'error', 'Open the log'],
          ['APP_TRIED 0', 'warn', 'Open Apps'],
          ['APP_TRIED 1', 'warn', 'Open Apps'],
          ['GLYPHS_MISSING 2', 'warn', 'Open the log'],
        ],
      ],
    ];
    for (const [plugins, health, expected] of cases) assert.deepEqual(found(plugins, health), expected);
  });
});
