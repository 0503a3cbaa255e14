/** Names that `devicectl logs` is given: of what is there, of what was there, and of nothing. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FakeCore } from './fake-core.ts';
import { REPLIES } from './replies.ts';
import { devicectl } from './run-devicectl.ts';

let core: FakeCore;
let at: readonly string[];
before(async () => {
  core = await FakeCore.start({
    ...REPLIES,
    'GET /logs': (response) =>
      response.end(JSON.stringify({ ok: true, entries: log(core.seen.at(-1)!.url), more: false })),
  });
  at = ['--run', core.root];
});
after(() => core[Symbol.asyncDispose]());

/** The log has lines of the plugin that was removed, and none of level fatal. */
const log = (request: string) => {
  const { searchParams: asked } = new URL(request, 'http://core');
  const known = asked.get('plugin') === 'removed' || asked.get('app') === 'former' || asked.get('app') === null;
  return known && asked.get('plugin') !== 'sip' && asked.get('level') !== 'fatal'
    ? [{ level: 'info', message: 'x' }]
    : [];
};

describe('logs of a name that nothing knows', () => {
  const cases: readonly (readonly [args: string, code: number, stderr: RegExp])[] = [
    [
      '--plugin sip',
      1,
      /^devicectl: PLUGIN_NOT_FOUND: there is no plugin sip, and the log .*; did you mean (spi|mcp)\?\n {2}see: /,
    ],
    ['-f --plugin sip', 1, /^devicectl: PLUGIN_NOT_FOUND: /],
    ['--app agendas', 1, /^devicectl: APP_NOT_FOUND: there is no app agendas, .*; did you mean agenda\?\n {2}see: /],
    ['-f --app agendas', 1, /^devicectl: APP_NOT_FOUND: /],
    ['--plugin spi --level fatal', 0, /^$/],
    ['--app agenda --level fatal', 0, /^$/],
    ['--app com.example.agenda --level fatal', 0, /^$/],
    ['--plugin removed --level fatal', 0, /^$/],
    ['--app former --level fatal', 0, /^$/],
    ['-f --plugin removed', 3, /it ended the stream/],
  ];
  for (const [args, code, stderr] of cases)
    test(`logs ${args} ends with ${code}`, async () => {
      const ended = await devicectl(['logs', ...args.split(' '), ...at]);
      assert.match(ended.stderr, stderr);
      assert.equal(ended.code, code);
    });

  test('it may be one of an app where no plugin knows the apps, as in safe mode', async () => {
    const apps = core.replies['GET /apps']!;
    delete core.replies['GET /apps'];
    assert.equal((await devicectl(['logs', '--app', 'agendas', ...at])).code, 0);
    core.replies['GET /apps'] = apps;
  });
});
