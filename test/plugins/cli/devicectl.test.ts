/** Costs processes: devicectl is started as its users start it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, describe, test } from 'node:test';
import { pace } from '../../fixtures/eventually.ts';
import { FakeCore } from './fake-core.ts';
import { realTable } from './real-table.ts';
import { EVENT, REPLIES } from './replies.ts';
import { devicectl, devicectlProcess, spawnDevicectl } from './run-devicectl.ts';

let core: FakeCore;
let at: readonly string[];
before(async () => {
  core = await FakeCore.start({ ...REPLIES, 'GET /openrpc.json': await realTable() });
  at = ['--run', core.root];
});
beforeEach(() => {
  core.seen.length = 0;
});
after(() => core[Symbol.asyncDispose]());

describe('human output', () => {
  const cases: readonly (readonly [args: string, lines: readonly RegExp[]])[] = [
    [
      'status',
      [
        /^core {5}0\.1\.0 \(plugin-api 1\.0\.0\), SKU simulator, up 61 s$/m,
        /^health {3}degraded$/m,
        /^bridge {3}down \(resets 3\)$/m,
        /^plugins {2}\d+ of \d+ active$/m,
        /^cbp {8}waiting {2}LINK {2}no answer\\x1b\[31m yet$/m,
        /^spi {5}waiting {12}no bridge$/m,
      ],
    ],
    ['plugins', [/^PLUGIN +VERSION {2}STATE/m, /^http +1\.0\.0 {4}active {7}inline/m]],
    ['plugins restart spi', [/^spi is active$/m]],
    ['plugins restart http', [/^http restarts now$/m]],
    ['plugins list', [/^shaky .* no board; "devicectl plugin release" starts it again$/m]],
    ['plugins release spi', [/^spi is active$/m]],
    ['plugins apply', [/^added {8}nfc$/m, /^changed {6}spi$/m, /^start again {2}spi, demo, nfc$/m]],
    ['plugins apply --check', [/^added {8}nfc$/m]],
    ['functions', [/^agenda\.next {2}1\.2\.0 {4}com\.example\.agenda {2}yes {8}day string, .* {2}title string$/m]],
    ['call agenda.next day=today', [/^title {3}Dentist$/m, /^count {3}2$/m]],
    ['apps list', [/^com\.example\.agenda {2}1\.0\.0 {4}running {2}\d+ s +1 {2}bridges\.spi:flash$/m]],
    [
      'apps show com.example.agenda',
      [/^state {9}running$/m, /^pid {11}42$/m, /^DENIED\nCAPABILITY +HINT\nbridges\.spi:flash {2}grants: /m],
    ],
    ['apps stop com.example.agenda', [/^state {9}stopped/m]],
    ['config get device.name', [/^kitchen$/]],
    ['config set device.name hall', [/^device\.name = hall \(device, revision 4\)$/m]],
    ['config', [/^device\.name {2}\{"a":1\} {2}default {9}0$/m]],
    ['spi handles', [/^NAME +SPEED {2}MODE/m, /^flash {2}8000000 {5}0 {2}spi0/m]],
    ['spi transfer flash --tx 9f --rx 4', [/^0000 {2}ef 40 18 41 .*\.@\.A$/m]],
    ['why', [/app com\.x {2}bridges\.spi {2}the line {7}oem$/m]],
    ['openapi', [/"openapi": "3\.1\.0"/]],
    ['openapi --rpc', [/"openrpc": "1\.3\.2"/]],
    ['events --count 1', [/^\d\d:\d\d:\d\d\.\d{3} 7 ui\.toast \[high\] from core \{"text":"hello"\}$/m]],
    ['logs', [/^[\d:.]{12} warn {2}spi odd: because \{"n":1\}$/m, /^ {13}info {2}app\.agenda printed$/m]],
    [
      'logs --last-start',
      [
        /^last start {2}simulator\.yaml, \d+ days ago$/m,
        /^ended {7}crashed$/m,
        /^suspects {4}spi$/m,
        /fatal core gone$/m,
      ],
    ],
    ['token', [/^operator-secret$/m]],
    [
      'intents',
      [/^device\.time {2}what time is it {2}plugin\.intent {2}What time is it$/m, /^LEFT OUT\nAPP .*\ncom\.a {2}f /m],
    ],
    ['intents match x', [/^outcome {2}plan$/m, /^plan {5}intent device\.time, mayGoOn yes$/m]],
    ['intents grammar', [/^#JSGF V1\.0 UTF-8;\ngrammar commands;$/]],
    ['voice', [/^state {2}listening$/m, /^muted {2}no$/m]],
    ['voice mute', [/^the microphone is muted$/]],
    ['voice unmute', [/^the microphone is open$/]],
    [
      'voice ledger',
      [
        /^1970-01-01T00:00:00\.000Z {2}audio {4}640 {2}stt-cloud \(Transcription at a\) {2}unsure$/m,
        /^used {2}daySeconds 0\.02, monthSeconds 1$/m,
        /^UNSENT\n.*\n.*hedge {2}the device is offline$/m,
      ],
    ],
    ['ledger', [/^1970-01-01T00:00:00\.000Z {2}egress {2}app\.com\.a {2}a\.example:443 {2}tunnel +12/m]],
    ['ledger sums', [/^app\.com\.a {2}a\.example:443 +3 +40$/m]],
    ['sensors', [/^air {5}celsius 21\.5 {9}3$/m]],
    ['sensors read air', [/^temperature +21\.5 +Cel$/m, /^pressure +100 +Pa$/m]],
    ['nfc read', [/^uri {3}https:\/\/example\.com$/m, /^tag {2}uid 04a1$/m]],
    ['nfc write --text Hi', [/^written to 04a1$/]],
    ['uart read loop', [/^0000 {2}68 69 .*hi\nlost {2}2$/]],
    ['uart write loop hello', [/^5 bytes written$/]],
    ['gpio write led 1', [/^led is 1$/]],
    ['gpio read led', [/^1$/]],
    ['can send vehicle 0x7df --data 0201', [/^sent, and acknowledged/]],
    ['i2c recover memory', [/^the bus is free$/]],
  ];
  for (const [args, lines] of cases)
    test(`${args} prints what it says`, async () => {
      const ended = await devicectl([...args.split(' '), ...at]);
      assert.equal(ended.stderr, '');
      assert.equal(ended.code, 0);
      for (const line of lines) assert.match(ended.stdout.trimEnd(), line);
      assert.ok(!ended.stdout.includes('\u001b'), 'no escape sequences where no terminal is');
    });
});

describe('--json', () => {
  const cases: readonly (readonly [args: string, reply: string])[] = [
    ['plugins list', 'GET /plugins'],
    ['functions', 'GET /functions'],
    ['call agenda.next', 'POST /functions/call'],
    ['apps', 'GET /apps'],
    ['config get device.name', 'GET /config/device.name'],
    ['config list', 'GET /config'],
    ['spi', 'GET /spi/handles'],
    ['spi transfer flash --tx 9f --rx 3', 'POST /SPI_transfer_txrx'],
    ['why', 'GET /refusals'],
  ];
  for (const [args, reply] of cases)
    test(`${args} --json prints the answer byte for byte`, async () => {
      const ended = await devicectl([...args.split(' '), '--json', ...at]);
      assert.equal(ended.stdout, `${JSON.stringify(core.replies[reply])}\n`);
      assert.equal(ended.code, 0);
    });

  test('status --json joins its three answers', async () => {
    const { stdout } = await devicectl(['--json', 'status', ...at]);
    assert.deepEqual(JSON.parse(stdout), {
      version: core.replies['GET /version'],
      health: core.replies['GET /health'],
      plugins: core.replies['GET /plugins'],
    });
  });

  test('logs asks for the selected lines, and follows with the tail first', async () => {
    await devicectl([
      'logs',
      '--plugin',
      'spi',
      '--level',
      'warn',
      '--since',
      '1970-01-01T00:00:01Z',
      '-n',
      '7',
      ...at,
    ]);
    assert.equal(core.seen.at(-1)?.url, '/logs?plugin=spi&level=warn&since=1000&limit=7');
    const followed = await devicectl(['logs', '-f', '--app', 'agenda', ...at]);
    assert.equal(core.seen.at(-1)?.url, '/logs/stream?app=agenda&tail=50');
    assert.match(followed.stdout, /info {2}core live$/m);
    for (const wrong of [
      ['--since', 'soon'],
      ['-n', '0'],
      ['--level', 'loud'],
    ])
      assert.equal((await devicectl(['logs', ...wrong, ...at])).code, 2, wrong.join(' '));
  });

  test('logs --json prints an entry a line, as with -f', async () => {
    const { stdout } = await devicectl(['logs', '--json', ...at]);
    const { entries } = core.replies['GET /logs'] as { readonly entries: readonly object[] };
    assert.ok(entries.length > 1);
    assert.equal(stdout, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  });

  test('events --json prints an envelope a line', async () => {
    const { stdout } = await devicectl(['events', 'ui.*', '--json', '--count', '1', ...at]);
    assert.deepEqual(JSON.parse(stdout), EVENT);
    assert.equal(core.seen.at(-1)?.url, '/events?filter=ui.*');
  });

  test('an error keeps its body on standard output and its text on standard error', async () => {
    const ended = await devicectl(['plugins', 'restart', 'nope', '--json', ...at]);
    assert.equal(ended.code, 1);
    assert.deepEqual(JSON.parse(ended.stdout), (core.replies['POST /plugins/nope/restart'] as [number, object])[1]);
    assert.match(ended.stderr, /^devicectl: PLUGIN_NOT_FOUND: there is no plugin nope\n/);
  });
});

describe('requests on the wire', () => {
  /** What is asked, and with which body. */
  const asked: readonly (readonly [args: string, request: string, body: unknown])[] = [
    ['nfc read', 'POST /NFC_read', {}],
    ['nfc read --reader tags', 'POST /NFC_read', { reader: 'tags' }],
    ['nfc write --text Hi', 'POST /NFC_write', { records: [{ type: 'text', text: 'Hi' }] }],
    ['spi transfer flash --tx 9f --rx 4', 'POST /SPI_transfer_txrx', { handle: 'flash', tx: 'nw==', rxLen: 4 }],
    ['i2c transfer memory --rx 1', 'POST /I2C_transfer_txrx', { handle: 'memory', tx: '', rxLen: 1 }],
    ['can send vehicle 0x7df', 'POST /CAN_send', { handle: 'vehicle', id: 2015 }],
    ['uart read loop --wait 5', 'POST /UART_read', { handle: 'loop', timeoutMs: 5 }],
    ['uart write loop hello', 'POST /UART_write', { handle: 'loop', tx: 'aGVsbG8=' }],
    ['uart write loop 00ff --hex', 'POST /UART_write', { handle: 'loop', tx: 'AP8=' }],
    ['voice unmute', 'PUT /voice/mute', { muted: false }],
    ['logs --level warn', 'GET /logs?level=warn&limit=50', undefined],
    ...['restart', 'reboot', 'power-off'].flatMap((act) => [
      [`system ${act} --yes`, `POST /system/${act}`, {}] as const,
      [`${act} --yes --safe-mode`, `POST /system/${act}`, { safeMode: true }] as const,
    ]),
    ['functions --app com.a', 'GET /functions?app=com.a', undefined],
  ];
  for (const [args, request, body] of asked)
    test(`${args} asks ${request}, with any options of devicectl before and after it`, async () => {
      const own = ['--json', '--root', core.root, ...at, '--token-file', join(core.root, 'operator.token')];
      for (const line of [
        [...own, ...args.split(' ')],
        [...args.split(' '), ...own],
      ]) {
        await devicectl(line);
        const last = core.seen.at(-1)!;
        assert.deepEqual([`${last.method} ${last.url}`, last.body], [request, body]);
      }
    });

  test('inputs of a call have the types that the function declares', async () => {
    await devicectl(['call', 'agenda.next', 'day=7', 'limit=3', 'all=true', 'filter={"a":1}', 'raw:=[1]', ...at]);
    const inputs = { day: '7', limit: 3, all: true, filter: { a: 1 }, raw: [1] };
    assert.deepEqual(core.seen.at(-1)?.body, { name: 'agenda.next', inputs });
  });

  test('--json-inputs reads standard input; --app and --range go along', async () => {
    await devicectlProcess(
      ['call', 'agenda.next', '--json-inputs', '-', '--app', 'com.a', '--range', '^1', ...at],
      '{"day":"x"}',
    );
    const body = { name: 'agenda.next', inputs: { day: 'x' }, app: 'com.a', version: '^1' };
    assert.deepEqual(core.seen.at(-1)?.body, body);
  });

  const values: readonly (readonly [args: readonly string[], body: object])[] = [
    [['set', 'device.name', '5'], { value: 5 }],
    [['set', 'device.name', 'hall'], { value: 'hall' }],
    [['set', 'device.name', '5', '--string'], { value: '5' }],
    [['set', 'device.name', '{"a":[]}', '--if-revision', '3'], { value: { a: [] }, ifRevision: 3 }],
    [['unset', 'device.name'], { value: null }],
  ];
  for (const [args, body] of values)
    test(`config ${args.join(' ')} sends ${JSON.stringify(body)}`, async () => {
      await devicectl(['config', ...args, ...at]);
      assert.deepEqual(core.seen.at(-1)?.body, body);
    });

  test('bytes to transmit come as hex, base64 or from a file', async () => {
    const file = join(core.root, 'bytes');
    await writeFile(file, Buffer.from([0x9f, 0]));
    for (const tx of ['9f00', '0x9f 00', 'base64:nwA=', `@${file}`]) {
      await devicectl(['spi', 'transfer', 'flash', '--tx', tx, '--rx', '3', ...at]);
      assert.deepEqual(core.seen.at(-1)?.body, { handle: 'flash', tx: 'nwA=', rxLen: 3 });
    }
  });

  test('no token goes over the Unix socket, the operator token over TCP', async () => {
    await devicectl(['apps', ...at]);
    assert.equal(core.seen.at(-1)?.authorization, undefined);
    await devicectl(['apps', '--url', core.url, ...at]);
    assert.equal(core.seen.at(-1)?.authorization, 'Bearer operator-secret');
    await writeFile(join(core.root, 'other.token'), 'other\n');
    await devicectl(['apps', '--url', core.url, '--token-file', join(core.root, 'other.token'), ...at]);
    assert.equal(core.seen.at(-1)?.authorization, 'Bearer other');
  });

  test('config --app names the app whose view is meant', async () => {
    await devicectl(['config', 'get', 'device.name', '--app', 'com.example.agenda', ...at]);
    assert.equal(core.seen.at(-1)?.url, '/config/device.name?app=com.example.agenda');
    await devicectl(['config', 'list', 'device', '--app', 'com.example.agenda', ...at]);
    assert.equal(core.seen.at(-1)?.url, '/config?prefix=device&app=com.example.agenda');
    await devicectl(['config', 'set', 'device.name', '1', '--app', 'com.example.agenda', ...at]);
    assert.deepEqual(core.seen.at(-1)?.body, { value: 1, app: 'com.example.agenda' });
  });

  test('token --app prints the token of an app, found by its id or its name', async () => {
    await mkdir(join(core.root, 'apps/agenda/credentials'), { recursive: true });
    await writeFile(join(core.root, 'apps/agenda/credentials/token'), 'app-secret\n', { mode: 0o600 });
    for (const app of ['com.example.agenda', 'agenda'])
      assert.equal((await devicectl(['token', '--app', app, ...at])).stdout, 'app-secret\n');
  });
});

describe('errors', () => {
  const cases: readonly (readonly [args: string, code: number, stderr: RegExp])[] = [
    [
      'plugins restart nope',
      1,
      /^devicectl: PLUGIN_NOT_FOUND: there is no plugin nope\n {2}the plugin .*plugin list\n$/,
    ],
    ['apps show com.example.nope', 1, /^devicectl: METHOD_NOT_FOUND: /],
    ['nonsense', 2, /^devicectl: USAGE: there is no command nonsense\n {2}see: devicectl --help/],
    ['config get', 2, /^devicectl: USAGE: <key> is missing: text\n/],
    ['plugins restart spi --yes', 2, /^devicectl: USAGE: there is no option --yes\n/],
    ['status --nope', 2, /^devicectl: USAGE: there is no option --nope\n/],
    ['-correct-horse status', 2, /^devicectl: USAGE: a command comes before its options\n {2}see: devicectl --help\n$/],
    ['call agenda.next day', 2, /^devicectl: USAGE: "day" is not of the form key=value/],
    ['call agenda.next limit=x', 2, /^devicectl: USAGE: input limit must be a number/],
    ['call agenda.next day=a day=b', 2, /^devicectl: USAGE: input day is given twice/],
    [
      'call agenda.next --json-inputs [1]',
      2,
      /^devicectl: USAGE: --json-inputs must be JSON, key=value, @file or -, not/,
    ],
    ['spi transfer flash --tx 9', 2, /^devicectl: USAGE: --tx must be pairs of hex digits/],
    ['spi transfer flash --rx -1', 2, /^devicectl: USAGE: /],
    ['events --count 0', 2, /^devicectl: USAGE: --count must be a whole number of at least 1, not "0"/],
    ['token --app a/b', 2, /^devicectl: USAGE: "a\/b" is not the name of an app/],
    ['status --url ftp://x', 2, /^devicectl: USAGE: --url must be an http address/],
    [
      'status --socket /nonexistent/core.sock',
      3,
      /^devicectl: UNAVAILABLE: cannot reach the Core at unix:.*there is no socket\n {2}is it running\?/,
    ],
    ['status --url http://127.0.0.1:1', 3, /^devicectl: UNAVAILABLE: .*no program listens there/],
  ];
  for (const [args, code, stderr] of cases)
    test(`${args} ends with ${code}`, async () => {
      const ended = await devicectl([...args.split(' '), ...at]);
      assert.match(ended.stderr, stderr);
      assert.equal(ended.code, code);
      assert.equal(ended.stdout, '');
    });

  test('a refusal prints the line that would grant it', async () => {
    core.replies['POST /functions/call'] = [
      403,
      {
        ok: false,
        error: 'CAPABILITY_DENIED: no',
        code: 'CAPABILITY_DENIED',
        details: { hint: '- id: functions.call' },
      },
    ];
    const ended = await devicectl(['call', 'agenda.next', ...at]);
    assert.equal(ended.stderr, 'devicectl: CAPABILITY_DENIED: no\n  grant it with: - id: functions.call\n');
    assert.equal(ended.code, 1);
  });

  test('the code of a plugin stands once in front of its message', async () => {
    const code = 'plugin.kettle.KETTLE_DRY';
    core.replies['POST /functions/call'] = [409, { ok: false, error: `${code}: there is no water`, code }];
    const ended = await devicectl(['call', 'agenda.next', ...at]);
    assert.equal(ended.stderr, `devicectl: ${code}: there is no water\n`);
  });

  test('text of callers does not reach the terminal as control characters', async () => {
    const refusal = {
      ts: 1,
      caller: { kind: 'app', id: 'com.x' },
      capability: 'functions.call:\u001b[2J',
      class: 'normal',
    };
    core.replies['GET /refusals'] = { ok: true, refusals: [{ ...refusal, hint: 'grant\u0007 it' }] };
    const error = 'APP_ERROR: app com.x answered agenda.next with an error: \u001b]0;gotcha\u0007';
    const failed = { ok: false, error, code: 'APP_ERROR', details: { hint: '\u001b[31m' } };
    core.replies['POST /functions/call'] = [502, failed];
    const why = await devicectl(['why', ...at]);
    const call = await devicectl(['call', 'agenda.next', ...at]);
    assert.match(why.stdout, /functions\.call:\\x1b\[2J {2}grant\\x07 it/);
    assert.match(call.stderr, /an error: \\x1b\]0;gotcha\\x07\n/);
    for (const text of [why.stdout, call.stderr])
      assert.ok(![...text].some((char) => char < '\n' || char === '\u001b'));
  });

  test('the SPI endpoint has no member code: it is read from the text', async () => {
    core.replies['POST /SPI_transfer_txrx'] = [
      500,
      { ok: false, error: 'HANDLE_NOT_FOUND: SPI handle x is not registered' },
    ];
    const ended = await devicectl(['spi', 'transfer', 'x', '--rx', '1', ...at]);
    assert.match(
      ended.stderr,
      /^devicectl: HANDLE_NOT_FOUND: SPI handle x is not registered\n {2}see: devicectl spi handles\n$/,
    );
  });

  for (const bus of ['GPIO', 'I2C', 'UART', 'CAN', 'PIO'])
    test(`a handle of ${bus} that is not there is looked up among those of ${bus}`, async () => {
      const text = `${bus} handle x is not registered`;
      const body = {
        ok: false,
        error: `HANDLE_NOT_FOUND: ${text}`,
        code: 'HANDLE_NOT_FOUND',
        details: { bus, handle: 'x' },
      };
      core.replies['POST /SPI_transfer_txrx'] = [500, body];
      const { stderr } = await devicectl(['spi', 'transfer', 'x', '--rx', '1', ...at]);
      assert.ok(stderr.endsWith(`  see: devicectl ${bus.toLowerCase()} handles\n`), stderr);
    });

  test('a failed Core answers status with 1 and the fault', async () => {
    core.replies['GET /health'] = [503, { ok: false, status: 'failed', components: {}, uptimeMs: 1 }];
    const ended = await devicectl(['status', ...at]);
    assert.match(ended.stdout, /^health {3}failed$/m);
    assert.equal(ended.code, 1);
  });

  test('an answer that is not JSON is told, not thrown', async () => {
    core.replies['GET /apps'] = (response) => response.writeHead(200).end('<html>');
    const ended = await devicectl(['apps', ...at]);
    assert.match(ended.stderr, /^devicectl: UNAVAILABLE: .*is not a JSON object/);
    assert.equal(ended.code, 3);
  });

  test('a token that this user may not read is named', {
    skip: process.getuid?.() === 0 && 'root reads everything',
  }, async () => {
    await chmod(join(core.root, 'operator.token'), 0);
    assert.match((await devicectl(['token', ...at])).stderr, /cannot read token .*EACCES/);
  });
});

describe('live events', () => {
  test('Ctrl-C ends the view in good order', async () => {
    const child = spawnDevicectl(['events', ...at]);
    child.stdout?.once('data', () => child.kill('SIGINT'));
    assert.deepEqual(await new Promise((resolve) => child.once('close', (code, signal) => resolve([code, signal]))), [
      0,
      null,
    ]);
  });

  test('Ctrl-C ends what waits for an update, too, and that is told in one line', async () => {
    core.replies['POST /update/download'] = { ok: true, state: 'downloading', since: 0 };
    const child = spawnDevicectl(['update', 'download', '--wait', ...at]);
    core.replies['GET /update'] = (response) => {
      response.end(JSON.stringify({ ok: true, state: 'downloading', since: 0 }), () => child.kill('SIGINT'));
    };
    const [said, code] = await Promise.all([text(child.stderr!), once(child, 'close').then(([ended]) => ended)]);
    assert.equal(said, 'devicectl: CANCELLED: it was ended before it was over\n');
    assert.equal(code, 1);
  });

  test('a Core that goes away is told', async () => {
    core.replies['GET /events'] = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
      void pace(50).then(() => response.destroy());
    };
    const ended = await devicectl(['events', ...at]);
    assert.equal(ended.code, 3);
    assert.match(ended.stderr, /^devicectl: UNAVAILABLE: /);
  });

  test('a reader that goes away ends devicectl without a word', async () => {
    core.replies['GET /events'] = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const timer = setInterval(() => response.write(`data: ${JSON.stringify(EVENT)}\n\n`), 5);
      response.on('close', () => clearInterval(timer));
    };
    const child = spawnDevicectl(['events', ...at]);
    let stderr = '';
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    child.stdout?.once('data', () => child.stdout?.destroy());
    assert.equal(await new Promise((resolve) => child.once('close', resolve)), 0);
    assert.equal(stderr, '');
  });
});
