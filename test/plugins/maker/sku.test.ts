/** `devicectl sku explain|diff|graph|flat|check` over the family of the tree. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, suite, test } from 'node:test';
import { readSkuFamily } from '@device-core/plugin-api/inside/sku-family';
import { without } from '../../fixtures/debian.ts';
import { devicectl, devicectlProcess } from '../cli/run-devicectl.ts';

const SKUS = resolve(import.meta.dirname, '../../../manifests/skus');
const sku = (name: string) => join(SKUS, `${name}.yaml`);
const FOLDER = mkdtempSync(join(tmpdir(), 'dc-sku-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

/** `speaker.yaml:6`, of a place in an answer or in a text. */
const short = (text: string) => text.replaceAll(/\S*\/([\w-]+\.yaml)/g, '$1');
const lineOf = (name: string, words: string) => {
  const lines = readFileSync(sku(name), 'utf8').split('\n');
  return `${name}.yaml:${lines.findIndex((line) => line.includes(words)) + 1}`;
};

async function said(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await devicectl(['sku', ...args]);
  assert.equal(code, 0, stderr);
  return short(stdout);
}
// biome-ignore lint/suspicious/noExplicitAny: answers of programs, whose form the tests are about
async function answer(...args: readonly string[]): Promise<any> {
  return JSON.parse((await devicectl(['sku', ...args, '--json'])).stdout);
}

suite('sku explain', () => {
  test('a plugin: who brought it, who needs it, what it needs, and each line that sets something', async () => {
    const text = await said('explain', sku('speaker'), 'speech');
    assert.match(text, /^plugin speech \d/);
    assert.match(text, new RegExp(`listed +${lineOf('kiosk', 'speech:')}$`, 'm'));
    assert.match(text, /provides +speech \d\S+, needed by vad-fvad, soundswallower|needed by .*soundswallower/);
    assert.match(text, /without it +.*soundswallower.* wait$/m);
    assert.match(text, new RegExp(`^config.order.vad +\\["fvad"\\] +${lineOf('kiosk', 'order:')}$`, 'm'));
    const { plugin } = await answer('explain', sku('speaker'), 'speech');
    assert.deepEqual(
      plugin.requires.filter(({ by }: { by: string[] }) => by.length === 0),
      [],
    );
  });

  test('an address with a password is shown without it, by explain and by diff', async () => {
    const file = join(FOLDER, 'told.yaml');
    const lines = ['plugins:', '  telemetry: { config: { endpoint: "https://ops:hunter2@example.com/" } }'];
    writeFileSync(file, ['skuVersion: 1', 'id: told', 'title: T', `extends: ${sku('device')}`, ...lines].join('\n'));
    for (const how of [[], ['--json']]) {
      for (const words of [
        ['explain', file, 'telemetry'],
        ['explain', file, 'telemetry.endpoint'],
        ['diff', sku('device'), file],
      ]) {
        const { stdout } = await devicectl(['sku', ...words, ...how]);
        assert.match(stdout, /https:\/\/\[redacted\]@example\.com/, words.join(' '));
        assert.doesNotMatch(stdout, /hunter2/);
      }
    }
  });

  test('a setting: the line that sets it, what it lies over, and what it is for', async () => {
    const file = join(FOLDER, 'loud.yaml');
    const lines = ['plugins:', '  voice: { config: { sounds: [wake] } }'];
    writeFileSync(
      file,
      ['skuVersion: 1', 'id: loud', 'title: Loud', `extends: ${sku('speaker')}`, ...lines].join('\n'),
    );
    const text = await said('explain', file, 'voice.sounds');
    assert.match(text, /^voice\.sounds is \["wake"\]\n {2}Feedback sounds/);
    assert.match(text, /set by loud\.yaml:6\n/);
    assert.match(text, new RegExp(`over ${lineOf('speaker', 'sounds:')}: \\["wake","listening-end"`));
    for (const same of ['plugins.voice.config.sounds']) assert.equal(await said('explain', file, same), text);
    assert.match(await said('explain', file, 'voice.language'), /^voice\.language is en\n {2}not set/);
    assert.match(await said('explain', file, 'http.essential'), new RegExp(`set by ${lineOf('base', 'http:')}`));
    assert.match(
      await said('explain', file, 'simulated'),
      new RegExp(`^simulated is true\n  set by ${lineOf('base', 'simulated:')}`),
    );
    assert.match(await said('explain', sku('gateway'), 'grants.com.example.logger'), /is \["bridges\.i2c:climate"\]/);
  });

  test('a service: its provider, its users, and the plugins that would provide it where none does', async () => {
    const text = await said('explain', sku('kiosk'), 'renderers');
    assert.match(text, new RegExp(`^provides +display +\\S+ +${lineOf('kiosk', ' display:')}$`, 'm'));
    assert.match(text, /^requires +render-soft/m);
    assert.match(await said('explain', sku('kiosk'), 'event-bus'), /^provides +the kernel/m);
    assert.match(await said('explain', sku('gateway'), 'renderers'), /no plugin provides it: display would$/m);
  });

  test('a plugin that is not there: who took it away, and which line would bring it', async () => {
    const text = await said('explain', sku('speaker'), 'display');
    assert.match(text, new RegExp(`^plugin display is removed: ${lineOf('speaker', 'remove:')}$`, 'm'));
    assert.match(text, /^ {2}the line that adds it: display: \^1\.0\.0$/m);
    assert.match(await said('explain', sku('gateway'), 'render-soft'), /it would wait for renderers/);
  });

  test('an unknown name is told with the names near it', async () => {
    const { code, stderr } = await devicectl(['sku', 'explain', sku('kiosk'), 'voicee']);
    assert.equal(code, 1);
    assert.match(stderr, /NOT_FOUND: the SKU has no plugin, service or setting voicee[\s\S]*did you mean voice\?/);
  });
});

suite('sku diff', () => {
  test('names plugins, services, capabilities, grants and settings that differ, with the line', async () => {
    const {
      same,
      plugins,
      services,
      grants,
      config,
      sku: members,
    } = await answer('diff', sku('kiosk'), sku('gateway'));
    assert.equal(same, false);
    assert.ok(plugins.added.some((one: string) => one.startsWith('spi ')));
    assert.ok(plugins.removed.some((one: string) => one.startsWith('voice ')));
    assert.ok(services.added.includes('spi') && services.removed.includes('panel'));
    assert.deepEqual(grants, { added: ['com.example.logger: bridges.i2c:climate'], removed: [] });
    assert.deepEqual(config, []);
    assert.deepEqual(
      members.map(({ key }: { key: string }) => key),
      ['safeMode'],
    );
    const { code, stdout } = await devicectl(['sku', 'diff', sku('kiosk'), sku('speaker')]);
    assert.equal(code, 1);
    assert.match(short(stdout), new RegExp(`voice\\.sounds +\\[.*\\] +\\[.*\\] +${lineOf('speaker', 'sounds:')}`));
  });

  test('a SKU and its flat text are the same', async () => {
    const flat = join(FOLDER, 'flat.yaml');
    await said('flat', sku('speaker'), '--out', flat);
    assert.match(await said('diff', sku('speaker'), flat), /stand for the same/);
    assert.deepEqual(readSkuFamily(flat).value, JSON.parse(JSON.stringify(readSkuFamily(flat).value)));
    assert.equal(`${await said('flat', sku('speaker'))}`, readFileSync(flat, 'utf8'));
  });
});

suite('sku diff --bytes', () => {
  test('says what the images weigh, and which parts make the difference', async () => {
    const { bytes } = await answer('diff', sku('kiosk'), sku('kiosk-quiet'), '--bytes');
    assert.ok(bytes.to < bytes.from && bytes.from > 1e8, JSON.stringify(bytes).slice(0, 200));
    const parts: readonly { what: string; from: number; to: number }[] = bytes.parts;
    const more = parts.reduce((sum, one) => sum + one.to - one.from, 0);
    assert.equal(more, bytes.to - bytes.from);
    const voice = parts.find(({ what }) => what === 'plugin voice');
    assert.ok(voice && voice.from > 0 && voice.to === 0);
    assert.ok(parts.some(({ what }) => what.startsWith('package ')));
    assert.ok(!parts.some(({ what }) => what === 'plugin http'));
  });
});

suite('sku graph', () => {
  test('has an edge for each need, and red ones for services without a provider', async () => {
    const { edges } = await answer('graph', sku('kiosk'));
    assert.ok(
      edges.some(
        (one: object) => JSON.stringify(one) === '{"from":"render-soft","service":"renderers","to":"display"}',
      ),
    );
    const file = join(FOLDER, 'alone.yaml');
    writeFileSync(file, 'skuVersion: 1\nid: alone\ntitle: Alone\nplugins: { render-soft: ^1.0.0 }\n');
    const dot = await said('graph', file);
    assert.match(dot, /^digraph "alone" \{/);
    assert.match(dot, /"render-soft" -> "no plugin provides renderers" \[label="renderers", color=red\];/);
  });

  const noDot = without('graphviz');
  test('is a picture where dot is', { skip: noDot }, async () => {
    const file = join(FOLDER, 'graph.svg');
    await said('graph', sku('kiosk'), '--out', file);
    assert.match(readFileSync(file, 'utf8'), /<svg/);
  });
  test('names the missing program without dot', { skip: !noDot && 'dot is installed' }, async () => {
    const { code, stderr } = await devicectl(['sku', 'graph', sku('kiosk'), '--out', join(FOLDER, 'graph.svg')]);
    assert.equal(code, 1);
    assert.match(stderr, /UNAVAILABLE: no picture can be drawn: dot is not installed[\s\S]*graphviz/);
  });
});

suite('sku check', () => {
  test('says what the Core says of it', async () => {
    const { code, stdout } = await devicectlProcess(['sku', 'check', sku('speaker')]);
    assert.equal(code, 0);
    assert.match(stdout, /SKU speaker is fine, \d+ plugins/);
    const broken = join(FOLDER, 'broken.yaml');
    writeFileSync(broken, `skuVersion: 1\nid: broken\ntitle: Broken\nextends: ${sku('kiosk')}\nremove: [http]\n`);
    const { code: failed, stdout: told } = await devicectlProcess(['sku', 'check', broken]);
    assert.equal(failed, 1);
    assert.match(told, /broken\.yaml:5: SKU_INVALID removes plugin http, which is essential \(base\.yaml:\d+\)/);
  });

  test('tells the differences between host and bridge, of each handle that is on the host', async () => {
    const file = join(FOLDER, 'moved.yaml');
    const handles = [
      'gpio: { version: ^1.0.0, config: { handles: [{ name: lamp, endpoint: pins, line: 1, direction: out, safe: 1, edge: both }] } }',
      'i2c: { version: ^1.0.0, config: { speeds: { i2c-1: 400000 }, handles: [{ name: climate, endpoint: i2c-1, address: 0x76 }] } }',
      'uart: { version: ^1.0.0, config: { handles: [{ name: console, endpoint: serial0, baud: 9600, bits: 9 }] } }',
      'can: { version: ^1.0.0, config: { handles: [{ name: car, endpoint: can, nominal: 250000, mode: listen-only }] } }',
      'host-can: { version: ^1.0.0, config: { interfaces: [{ name: can, path: can0, nominal: 500000 }] } }',
    ].map((line) => `  ${line}`);
    writeFileSync(
      file,
      ['skuVersion: 1', 'id: moved', 'title: Moved', `extends: ${sku('pi')}`, 'plugins:', ...handles, ''].join('\n'),
    );
    const { code, stdout } = await devicectl(['sku', 'check', file, '--json']);
    assert.equal(code, 0, stdout);
    const { differences } = JSON.parse(stdout) as { differences: { handle: string; text: string }[] };
    const told = differences.map(({ handle, text }) => `${handle}: ${text}`).sort();
    const expected = [
      /^car: the system sets the bit rate "nominal" to 500000, and 250000 is refused$/,
      /^car: the system sets the mode/,
      /^climate: the device tree sets the speed/,
      /^console: the kernel has no lines of nine bits$/,
      /^flash: a transfer has at most bufsiz bytes/,
      /^lamp: an end in order sets the safe level 1;/,
      /^lamp: the kernel tells no edges of an output/,
    ];
    assert.equal(told.length, expected.length, told.join('\n'));
    for (const [index, words] of expected.entries()) assert.match(told[index]!, words);
  });

  test('refuses a name that bridge and host have, and a handle whose place has no such endpoint', async () => {
    const file = join(FOLDER, 'twice.yaml');
    const lines = [
      '  port-sim: { version: ^1.0.0, config: { board: demo } }',
      '  host-i2c: { version: ^1.0.0, config: { buses: [{ name: i2c0, path: /dev/i2c-0 }, { name: wire, path: /dev/i2c-1 }] } }',
      '  host-gpio: { version: ^1.0.0, config: { chips: [{ name: wire, path: /dev/gpiochip0 }, { name: pins, path: /dev/gpiochip1 }] } }',
      '  gpio: { version: ^1.0.0, config: { handles: [{ name: led, endpoint: pins, line: 1, direction: out, where: bridge }] } }',
      '  uart: { version: ^1.0.0, config: { handles: [{ name: gps, endpoint: uart1, baud: 9600, where: host }] } }',
    ];
    writeFileSync(
      file,
      ['skuVersion: 1', 'id: twice', 'title: Twice', `extends: ${sku('simulator')}`, 'plugins:', ...lines, ''].join(
        '\n',
      ),
    );
    const { code, stdout } = await devicectl(['sku', 'check', file]);
    assert.equal(code, 1);
    for (const words of [
      /twice\.yaml:7: ENDPOINT_EXISTS the name i2c0 of host-i2c is on the bridge as well: the board demo has it/,
      /twice\.yaml:7: ENDPOINT_EXISTS the name wire of host-i2c is one of host-gpio, too/,
      /twice\.yaml:8: ENDPOINT_EXISTS the name pins of host-gpio is on the bridge as well: the handle led of gpio is to be there/,
      /twice\.yaml:10: ENDPOINT_EXISTS the handle gps of uart is to be on the host, and no host plugin lists uart1/,
    ])
      assert.match(stdout, words);
  });

  test('a file that cannot be written is told in a line, with its reason and without a stack', async () => {
    const away = join(FOLDER, 'no-such-folder');
    for (const [command, name] of [
      ['flat', 'x.yaml'],
      ['graph', 'x.dot'],
    ] as const) {
      const { code, stderr } = await devicectl(['sku', command, sku('gateway'), '--out', join(away, name)]);
      assert.equal(code, 1);
      assert.match(stderr, /^devicectl: STATE_UNWRITABLE: cannot write \S+: ENOENT: [^\n]*\n$/);
    }
  });

  test('a command that needs a SKU without mistakes names the first, and the command that tells the others', async () => {
    const broken = join(FOLDER, 'three.yaml');
    const lines = ['plugins:', '  limit: ^1.0.0', '  rpc: newest', 'safeMode: [nobody]'];
    writeFileSync(
      broken,
      ['skuVersion: 1', 'id: three', 'title: Three', `extends: ${sku('gateway')}`, ...lines].join('\n'),
    );
    const { code, stderr } = await devicectl(['sku', 'lock', broken]);
    assert.equal(code, 1);
    assert.match(short(stderr), /^devicectl: SKU_INVALID: three\.yaml:\d: there is no plugin limit/m);
    const { problems } = await answer('lock', broken);
    assert.ok(problems.length >= 3);
    assert.ok(short(stderr).endsWith(`\n  and ${problems.length - 1} more: devicectl sku check three.yaml\n`), stderr);
  });

  test('a name that no plugin may have stands with its own line, once', async () => {
    const broken = join(FOLDER, 'names.yaml');
    writeFileSync(broken, 'skuVersion: 1\nid: names\ntitle: Names\nplugins:\n  http: ^1.0.0\n  My Plugin: ^1.0.0\n');
    const { stdout } = await devicectlProcess(['sku', 'check', broken]);
    assert.match(short(stdout), /^names\.yaml:6: SKU_INVALID plugins\.My Plugin must match pattern "\S+"\n$/);
  });

  test('no tool works on a file that is no SKU', async () => {
    const none = join(FOLDER, 'none.yaml');
    const cases = [['flat'], ['explain', 'x'], ['graph'], ['diff', none]] as const;
    for (const [command, ...more] of cases) {
      const { code, stderr } = await devicectl(['sku', command, none, ...more]);
      assert.deepEqual([command, code], [command, 2]);
      assert.match(stderr, /there is no file/);
    }
    const broken = join(FOLDER, 'list.yaml');
    writeFileSync(broken, '- a\n');
    const { code, stderr } = await devicectl(['sku', 'flat', broken]);
    assert.equal(code, 1);
    assert.match(stderr, /SKU_INVALID: .*list\.yaml:1: the file must be object/);
  });
});
