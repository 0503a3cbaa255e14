import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { parse } from 'yaml';
import type { Setting } from '../../kernel/boot/arguments.ts';
import { resolveSku } from '../../kernel/boot/check.ts';

const folder = mkdtempSync(join(tmpdir(), 'ds-'));
after(() => rmSync(folder, { recursive: true }));

/** Writes a manifest of a plugin outside the tree, with a module that must not be run. */
function plugin(id: string, ...lines: string[]): void {
  const at = join(folder, id);
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, 'index.js'), 'throw new Error("plugin code was run");\n');
  const head = [`id: ${id}`, 'version: 1.0.0', 'summary: for a test', 'api: ^1.0.0', 'main: index.js'];
  const own = new Map(lines.map((line) => [line.split(':')[0], line]));
  const merged = head.map((line) => own.get(line.split(':')[0]) ?? line);
  writeFileSync(join(at, 'plugin.yaml'), [...merged, ...lines.filter((line) => !merged.includes(line)), ''].join('\n'));
}

/** Line numbers count from the first plugin line, which is 1. */
function check(lines: readonly string[], settings: readonly Setting[] = []) {
  const head = ['skuVersion: 1', 'id: test', 'title: Test', 'simulated: true', 'plugins:'];
  const file = join(folder, 'sku.yaml');
  writeFileSync(file, [...head, ...lines, ''].join('\n'));
  const resolved = resolveSku(file, settings);
  const found = resolved.problems.map(({ file: at, line, code, stops }) =>
    at.endsWith('sku.yaml')
      ? `${line - head.length} ${code} ${stops}`
      : `${at.split('/').at(-2)}:${line} ${code} ${stops}`,
  );
  return { ...resolved, found };
}

const line = (id: string, more = '') => `  ${id}: { version: ^1.0.0, path: ${id}, isolation: inline${more} }`;

plugin('a', 'provides: { a: 1.2.0 }');
plugin('b', 'provides: { b: 1.0.0 }', 'requires: { a: ^1.0.0 }');

test('a SKU that is right has no problems, and no plugin code is run', () => {
  const { found, plugins } = check([line('b'), line('a')]);
  assert.deepEqual(found, []);
  assert.deepEqual(
    plugins.map(({ id, isolation, enabled }) => [id, isolation, enabled]),
    [
      ['a', 'inline', true],
      ['b', 'inline', true],
    ],
  );
});

test('an address with a password is complained of in its line, without the password, and stops nothing but a change that brings it', () => {
  plugin('calls', 'config: { type: object, properties: { to: { type: array, items: { type: string } } } }');
  const lines = (to: string) => [
    '  calls:',
    '    version: ^1.0.0',
    '    path: calls',
    '    config:',
    '      to:',
    `        - ${to}`,
  ];
  for (const fine of ['https://host/', 'https://host/?at=12:30@noon', 'https://user@host:8080/', 'mailto:a:b@c'])
    assert.deepEqual(check(lines(fine)).found, [], fine);
  const before = check(lines('https://host/'));
  const { found, problems, plugins } = check(lines('https://user:hunter2@host/'));
  assert.deepEqual(found, ['6 SKU_INVALID nothing']);
  assert.match(
    problems[0]!.message,
    /^configuration calls\.to\.0 is an address with a password.* takes \{ secret: NAME \}/,
  );
  assert.doesNotMatch(problems[0]!.message, /hunter2/);
  assert.equal(plugins[0]?.refused, undefined);
  const change = resolveSku(before.file!, [], undefined, { running: before, installed: false });
  assert.deepEqual(
    change.problems.map(({ stops }) => stops),
    ['core'],
  );
});

test('a program is checked without being run, and its module is told as an absolute path', () => {
  const program = (members: string) => `programs: [{ command: guest show, summary: shows, ${members} }]`;
  plugin('shows', program('main: index.js, needsCore: false'));
  const { found, plugins } = check([line('shows')]);
  assert.deepEqual(found, []);
  assert.deepEqual(plugins[0]?.programs, [
    { command: 'guest show', summary: 'shows', main: join(folder, 'shows/index.js'), needsCore: false },
  ]);
  for (const [members, at] of [
    ['main: gone.js', 6],
    ['main: ../a/index.js', 6],
    ['main: sub/../../a/index.js', 6],
    ['main: index.js, aliases: [Guest]', 6],
    ['main: index.js, aliases: [guest show]', 6],
  ] as const) {
    plugin('wrong', program(members));
    assert.deepEqual(check([line('wrong')]).found, [`wrong:${at} MANIFEST_INVALID plugin`], members);
  }
});

test('every problem has its file, line, code, and what it stops', () => {
  plugin('twin', 'provides: { a: 1.0.0 }');
  plugin('usurper', 'provides: { device: 1.0.0 }');
  plugin('new', 'requires: { a: ^1.3.0 }');
  plugin('x', 'provides: { x: 1.0.0 }', 'requires: { y: ^1.0.0 }');
  plugin('y', 'provides: { y: 1.0.0 }', 'requires: { x: ^1.0.0 }');
  plugin('own', 'provides: { own: 1.0.0 }', 'requires: { own: ^1.0.0 }');
  plugin('old', 'api: ^0.9.0');
  plugin('typo', 'provide: { a: 1.0.0 }');
  plugin('ranges', 'requires: { a: one }', 'version: first');
  plugin('hooks', 'taps: [no.hook]', 'hooks: [health.collect]');
  plugin('greedy', 'capabilities: [bridges.sip]', 'publishes: ["a..b"]');
  plugin('heavy', 'isolation: worker');
  plugin('at-home', 'refuses: { process: it reads files of this process }');
  plugin('set', 'config: { type: object, additionalProperties: false, properties: { n: { type: integer } } }');
  plugin('hollow', 'main: missing.js');
  plugin('double', 'requires: { a: ^1.0.0 }', 'requires: { b: ^1.0.0 }');
  const cases: [lines: string[], ...found: string[]][] = [
    [[line('b')], '1 SERVICE_MISSING nothing'],
    [[line('a'), line('new')], '2 SERVICE_MISSING nothing'],
    [[line('a'), line('twin')], '2 SERVICE_ALREADY_PROVIDED core'],
    [[line('usurper')], '1 SERVICE_ALREADY_PROVIDED core'],
    [[line('a'), line('y'), line('x')], '3 DEPENDENCY_CYCLE core'],
    [[line('own')], '1 DEPENDENCY_CYCLE core'],
    [['  nobody: ^1.0.0'], '1 PLUGIN_NOT_FOUND plugin'],
    [['  a: { version: ^1.0.0, path: elsewhere, isolation: inline }'], '1 PLUGIN_NOT_FOUND plugin'],
    [['  a: { version: ^2.0.0, path: a, isolation: inline }'], '1 SKU_INVALID plugin'],
    [['  a: { version: x.y.z.w, path: a, isolation: inline }'], '1 SKU_INVALID plugin'],
    [['  c: { version: ^1.0.0, path: a, isolation: inline }'], 'a:1 MANIFEST_INVALID plugin'],
    [[line('old')], 'old:4 API_VERSION_MISMATCH plugin'],
    [[line('typo')], 'typo:6 MANIFEST_INVALID plugin'],
    [[line('ranges')], 'ranges:2 MANIFEST_INVALID plugin', 'ranges:6 MANIFEST_INVALID plugin'],
    [[line('hooks')], 'hooks:6 MANIFEST_INVALID plugin', 'hooks:7 MANIFEST_INVALID plugin'],
    [[line('greedy')], 'greedy:6 CAPABILITY_UNKNOWN plugin', 'greedy:7 FILTER_INVALID plugin'],
    [[line('hollow')], 'hollow:5 MANIFEST_INVALID plugin'],
    [[line('double')], 'double:7 MANIFEST_INVALID plugin'],
    [[line('heavy')], '1 ISOLATION_UNSUPPORTED plugin'],
    [['  a: { version: ^1.0.0, path: a, isolation: worker }']],
    [['  a: { version: ^1.0.0, path: a }']],
    [['  at-home: { version: ^1.0.0, path: at-home, isolation: worker }']],
    [['  at-home: { version: ^1.0.0, path: at-home }'], '1 ISOLATION_UNSUPPORTED plugin'],
    [
      ['  set:', '    version: ^1.0.0', '    path: set', '    isolation: inline', '    config:', '      n: x'],
      '6 SKU_INVALID core',
    ],
    [
      ['  set:', '    version: ^1.0.0', '    path: set', '    isolation: inline', '    config:', '      m: 1'],
      '6 SKU_INVALID core',
    ],
    [[line('a', ', config: { n: 1 }')], '1 SKU_INVALID core'],
    [['  a: 1'], '1 SKU_INVALID core'],
    [['  a: { path: a, order: 1, version: "*" }'], '1 SKU_INVALID core'],
    [[line('a'), line('a')], '2 SKU_INVALID core'],
    [
      [line('a'), 'grants:', '  com.example.a:', '    - display', '    - bridges.sip:x'],
      '5 CAPABILITY_UNKNOWN nothing',
    ],
    [[line('a', ', essential: true, enabled: false')], '1 SKU_INVALID nothing'],
    [[line('a', ', essential: false, enabled: false')]],
    [[line('a'), 'auth: maybe'], '2 SKU_INVALID core'],
    [['  a: [', ''], '3 SKU_INVALID core'],
  ];
  for (const [lines, ...found] of cases) assert.deepEqual(check(lines).found, found, lines.join('\n'));
});

test('the messages say what to do', () => {
  const { problems } = check([line('b'), 'grants: { com.example.a: [bridges.sip] }']);
  assert.deepEqual(
    problems.map(({ message }) => message),
    [
      'plugin b: service a ^1.0.0 is not there: no plugin of this SKU provides it',
      'there is no capability bridges.sip; did you mean bridges.spi?',
    ],
    'in the order of the lines',
  );
  const said = (lines: readonly string[], settings: readonly Setting[] = []) =>
    check(lines, settings)
      .problems.map(({ message }) => message)
      .join('\n');
  assert.match(said(['  operatons: ^1.0.0']), /there is no plugin operatons; did you mean operations\?/);
  assert.match(said(['  events: ^1.0.0']), /the line "operations: \^1\.0\.0" would/);
  const setting = { plugin: 'aa', key: 'port', value: 1 };
  assert.match(said([line('a')], [setting]), /aa\.port is set, but this SKU has no plugin aa; did you mean a\?/);
});

test('a plugin that is disabled provides nothing and needs nothing', () => {
  assert.deepEqual(check([line('a', ', enabled: false'), line('b')]).found, ['2 SERVICE_MISSING nothing']);
  assert.deepEqual(check([line('b', ', enabled: false')]).found, []);
});

test('settings of the command line go over those of the SKU, defaults below them', () => {
  plugin(
    'http',
    'config: { type: object, additionalProperties: false, properties: { port: { type: integer, default: 5 },',
    '  tls: { type: object, default: {}, properties: { on: { type: boolean, default: true } } }, list: { type: array } } }',
  );
  const settings = [
    { plugin: 'http', key: 'port', value: 7 },
    { plugin: 'http', key: 'list', value: 'b', append: true },
    { plugin: 'http', key: 'tls.on', value: false },
  ];
  assert.deepEqual(check([line('http')]).plugins[0]?.config, { port: 5, tls: { on: true } });
  const { plugins, found } = check([line('http', ', config: { list: [a], port: 6 }')], settings);
  assert.deepEqual(plugins[0]?.config, { port: 7, list: ['a', 'b'], tls: { on: false } });
  assert.ok(Object.isFrozen((plugins[0]?.config as { tls: object } | undefined)?.tls));
  assert.deepEqual(found, []);
  assert.deepEqual(check([line('http')], [{ plugin: 'http', key: 'port', value: 'x' }]).found, ['1 SKU_INVALID core']);
  assert.deepEqual(check([line('a')], settings.slice(0, 1)).found, ['0 PLUGIN_NOT_FOUND core']);
});

test('auth: open is for simulated SKUs only', () => {
  const file = join(folder, 'open.yaml');
  writeFileSync(file, 'skuVersion: 1\nid: test\ntitle: Test\nauth: open\nplugins: {}\n');
  const [problem] = resolveSku(file).problems;
  assert.deepEqual([problem?.line, problem?.code, problem?.stops], [4, 'SKU_INVALID', 'core']);
});

test('a plugin for simulated devices is refused in a SKU that is none, and the simulator is one', () => {
  const file = join(folder, 'product.yaml');
  for (const [simulated, found] of [
    [
      '',
      ['5 SKU_INVALID core', 'plugin simulator is for simulated SKUs only; take its line out, or say simulated: true'],
    ],
    [
      'simulated: false\n',
      ['6 SKU_INVALID core', 'plugin simulator is for simulated SKUs only; take its line out, or say simulated: true'],
    ],
    ['simulated: true\n', []],
  ] as const) {
    writeFileSync(file, `skuVersion: 1\nid: test\ntitle: Test\n${simulated}plugins:\n  simulator: ^1.0.0\n`);
    const problems = resolveSku(file).problems.filter(({ message }) => message.includes('simulated'));
    assert.deepEqual(
      problems.flatMap(({ line, code, stops, message }) => [`${line} ${code} ${stops}`, message]),
      found,
    );
  }
});

test('a SKU that is not there is a problem, too', () => {
  const { problems, sku } = resolveSku(join(folder, 'none.yaml'));
  assert.equal(sku, undefined);
  assert.match(problems[0]?.message ?? '', /cannot be read/);
});

test('the simulator SKU has no problems', () => {
  const { problems } = resolveSku(join(import.meta.dirname, '../../manifests/skus/simulator.yaml'));
  assert.deepEqual(problems, []);
});

describe('plugins that were installed on the device', () => {
  const state = join(folder, 'var');
  const HASH = `sha256:${'0'.repeat(64)}`;
  /** Installs plugins; `more` are members of their entries. Resolves a SKU of `lines` with them. */
  function installed(lines: readonly string[], plugins: Readonly<Record<string, readonly string[]>>, more = '') {
    const text = Object.keys(plugins).map(
      (id) => `  ${id}: { version: 1.0.0, hash: "${HASH}", isolation: inline, enabled: true, config: {}${more} }`,
    );
    for (const [id, members] of Object.entries(plugins)) {
      plugin(id, ...members);
      mkdirSync(join(state, 'plugins', id), { recursive: true });
      cpSync(join(folder, id), join(state, 'plugins', id, '1.0.0+000000000000'), { recursive: true });
    }
    writeFileSync(join(state, 'plugins/installed.yaml'), ['format: 1', 'plugins:', ...text, ''].join('\n'));
    const file = join(folder, 'sku.yaml');
    const head = ['skuVersion: 1', 'id: test', 'title: Test', 'simulated: true', 'plugins:'];
    writeFileSync(file, [...head, ...lines, ''].join('\n'));
    const resolved = resolveSku(file, [], state);
    const found = resolved.problems.map(
      ({ file: at, line, code, stops }) => `${at.split('/').at(-1)}:${line} ${code} ${stops}`,
    );
    const refused = resolved.plugins.flatMap(({ id, refused }) => (refused ? [`${id} ${refused.code}`] : []));
    return { ids: resolved.plugins.map(({ id }) => id), found, refused };
  }

  test('comes beside the plugins of the SKU', () => {
    const { ids, found } = installed([line('a')], { more: ['requires: { a: ^1.0.0 }'] });
    assert.deepEqual(ids, ['a', 'more']);
    assert.deepEqual(found, []);
  });

  test('never stops the Core and never takes a place of the SKU: it is refused itself', () => {
    const rows: readonly (readonly [Record<string, readonly string[]>, string, string, string?])[] = [
      [{ thief: ['provides: { a: 1.0.0 }'] }, 'thief SERVICE_ALREADY_PROVIDED', 'SERVICE_ALREADY_PROVIDED plugin'],
      [{ aaa: ['provides: { a: 1.0.0 }'] }, 'aaa SERVICE_ALREADY_PROVIDED', 'SERVICE_ALREADY_PROVIDED plugin'],
      [{ kern: ['provides: { device: 1.0.0 }'] }, 'kern SERVICE_DENIED', 'SERVICE_DENIED plugin'],
      [
        { round: ['provides: { y: 1.0.0 }', 'requires: { x: ^1.0.0 }'] },
        'round DEPENDENCY_CYCLE',
        'DEPENDENCY_CYCLE plugin',
        line('x'),
      ],
      [{ odd: ['config: { type: object, required: [n] }'] }, 'odd SKU_INVALID', 'SKU_INVALID plugin'],
    ];
    plugin('x', 'provides: { x: 1.0.0 }', 'requires: { y: ^1.0.0 }');
    for (const [plugins, refusal, problem, more] of rows) {
      const { found, refused } = installed([line('a'), ...(more ? [more] : [])], plugins);
      assert.deepEqual(refused, [refusal]);
      assert.ok(
        found.some((one) => /^(installed|plugin)\.yaml:\d+ /.test(one) && one.endsWith(` ${problem}`)),
        found.join(),
      );
      assert.ok(!found.some((one) => one.endsWith(' core')), found.join());
    }
  });

  test('does not replace a plugin of the SKU', () => {
    const { ids, found, refused } = installed([line('a')], { a: ['provides: { a: 9.0.0 }'] });
    assert.deepEqual([ids, refused], [['a'], []]);
    assert.deepEqual(found, ['installed.yaml:3 PLUGIN_CONFLICT nothing']);
    plugin('a', 'provides: { a: 1.2.0 }');
  });

  test('a version that took the Core down three times while on probation is not run again', () => {
    const before = `lastGood: { version: 1.0.0, hash: "${HASH}", isolation: inline, config: {} }`;
    const ids = (more: string) => installed([line('a')], { shaky: [] }, more).ids;
    assert.deepEqual(ids(', probation: { starts: 2 }'), ['a', 'shaky']);
    assert.deepEqual(ids(', probation: { starts: 3 }'), ['a']);
    assert.deepEqual(ids(`, probation: { starts: 3 }, ${before}`), ['a', 'shaky']);
  });

  test('a damaged list is told and its last good copy used', () => {
    installed([], { more: [] });
    const file = join(state, 'plugins/installed.yaml');
    cpSync(file, `${file}.last-good`);
    for (const text of ['', 'plugins: [', 'format: 1\nplugins: { more: { version: 1 } }', '\0\0\0']) {
      writeFileSync(file, text);
      const sku = join(folder, 'sku.yaml');
      writeFileSync(sku, 'skuVersion: 1\nid: test\ntitle: Test\nsimulated: true\nplugins: {}\n');
      const { plugins, problems } = resolveSku(sku, [], state);
      assert.deepEqual(
        [plugins.map(({ id }) => id), problems.map(({ code, stops }) => `${code} ${stops}`)],
        [['more'], ['STATE_CORRUPT nothing']],
        JSON.stringify(text),
      );
    }
  });
});

test('two items of one name are told where the schema says that a name is taken once, and stop nothing at a start', () => {
  const schema =
    'config: { type: object, properties: { handles: { type: array, uniqueItemProperties: [name, alias], items: { type: object } } } }';
  plugin('named', schema);
  const handles = (...items: string[]) => check([line('named', `, config: { handles: [${items.join(', ')}] }`)]);
  assert.deepEqual(handles('{ name: a }', '{ name: b, alias: c }', '{}', '{}').found, []);
  const { problems, found } = handles('{ name: a }', '{ name: b }', '{ name: a }', '{ name: 1 }', '{ name: "1" }');
  assert.deepEqual(found, ['1 SKU_INVALID nothing']);
  assert.equal(problems[0]?.message, 'configuration named.handles.2.name is "a", and so is that of item 0');
});

test('the buses of the tree name each handle once', () => {
  const one =
    '{ name: a, endpoint: x0, cs: 0, speed: 1000, mode: 0, address: 1, line: 0, direction: in, baud: 9600, nominal: 1000, machine: 0 }';
  for (const [bus, members] of Object.entries({
    spi: ['name', 'endpoint', 'cs', 'speed', 'mode'],
    i2c: ['name', 'endpoint', 'address'],
    gpio: ['name', 'endpoint', 'line', 'direction'],
    uart: ['name', 'endpoint', 'baud'],
    can: ['name', 'endpoint', 'nominal'],
    pio: ['name', 'endpoint', 'machine'],
  })) {
    const all = Object.fromEntries(
      one
        .slice(2, -2)
        .split(', ')
        .map((pair) => pair.split(': ') as [string, string]),
    );
    const handle = `{ ${members.map((member) => `${member}: ${all[member]}`).join(', ')} }`;
    const { problems } = check([`  ${bus}: { version: ^1.0.0, config: { handles: [${handle}, ${handle}] } }`]);
    assert.deepEqual(
      problems.filter(({ code }) => code === 'SKU_INVALID').map(({ message, stops }) => [message, stops]),
      [[`configuration ${bus}.handles.1.name is "a", and so is that of item 0`, 'nothing']],
    );
  }
});

describe('safe mode', () => {
  const SAFE = join(import.meta.dirname, '../../manifests/skus/safe-mode.yaml');
  const OWN = Object.keys(parse(readFileSync(SAFE, 'utf8')).plugins);
  const SETTING = 'config: { type: object, additionalProperties: false, properties: { n: { type: integer } } }';

  /** Safe mode of a device with this SKU. */
  function safe(text: string) {
    const file = join(folder, 'device.yaml');
    writeFileSync(file, text);
    const { plugins, problems } = resolveSku(SAFE, [], undefined, undefined, file);
    return { plugins, problems, more: plugins.filter(({ id }) => !OWN.includes(id)) };
  }
  const sku = (...lines: string[]) => ['skuVersion: 1', 'id: test', 'title: Test', ...lines, ''].join('\n');
  const plugins = (...lines: string[]) => `plugins: { ${lines.join(', ')} }`;

  test('keeps the lines that the SKU of the device lists, with their configuration, and none of them is essential', () => {
    plugin('screen', SETTING);
    const line = 'screen: { version: ^1.0.0, path: screen, isolation: inline, essential: true, config: { n: 7 } }';
    const { more, problems } = safe(sku('safeMode: [screen]', plugins(line, 'a: { version: ^1.0.0, path: a }')));
    assert.deepEqual(problems, []);
    assert.deepEqual(
      more.map(({ id, config, essential, main }) => ({ id, config, essential, main })),
      [{ id: 'screen', config: { n: 7 }, essential: false, main: join(folder, 'screen/index.js') }],
    );
  });

  test('comes up with any fault in the SKU of the device', () => {
    plugin('screen', SETTING);
    const wrong: readonly [text: string, stops: readonly string[]][] = [
      ['id: [', ['nothing']],
      [sku('safeMode: [screen]', plugins('screen: { version: ^2.0.0, path: screen }')), ['plugin']],
      [
        sku(
          'safeMode: [screen]',
          plugins('screen: { version: ^1.0.0, path: screen, isolation: inline, config: { n: x } }'),
        ),
        ['plugin'],
      ],
      [sku('safeMode: [screen]', plugins('screen: { version: ^1.0.0, path: gone }')), ['plugin']],
      [sku('safeMode: [other]', plugins('screen: { version: ^1.0.0, path: screen }')), []],
      [sku('safeMode: screen', plugins('screen: { version: ^1.0.0, path: screen }')), ['nothing']],
    ];
    for (const [text, stops] of wrong) {
      const found = safe(text);
      assert.deepEqual(
        found.problems.map((one) => one.stops),
        stops,
        text,
      );
      for (const id of OWN) assert.equal(found.plugins.find((one) => one.id === id)?.refused, undefined, id);
    }
    const { problems } = resolveSku(SAFE, [], undefined, undefined, join(folder, 'none.yaml'));
    assert.deepEqual(
      problems.map(({ stops }) => stops),
      ['nothing'],
    );
  });

  test('has its own lines unchanged for any list of the SKU', () => {
    const { plugins: found, problems } = safe(
      sku('safeMode: [http]', plugins('http: { version: ^1.0.0, config: { port: 9 } }')),
    );
    assert.deepEqual(problems, []);
    const { port } = found.find(({ id }) => id === 'http')!.config as { port: number };
    assert.notEqual(port, 9);
  });

  test('a SKU that lists what it does not have is told so', () => {
    const { found, problems } = check([line('a'), 'safeMode: [b, a]']);
    assert.deepEqual(found, ['2 PLUGIN_NOT_FOUND nothing']);
    assert.match(problems[0]?.message ?? '', /safe mode is to keep b, but this SKU has no plugin b/);
  });
});
