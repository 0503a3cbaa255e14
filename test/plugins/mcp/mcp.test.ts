/** Language model clients: bearers, tools, consent to what cannot be repeated, and every message that is no such. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { leakCheck, OPERATOR } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { isTooMany, toolsOf } from '../../../plugins/interface/mcp/tools.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { runs } from '../../fixtures/runs.ts';
import { Bench, fn, headersOf, message } from './fixture.ts';

after(leakCheck());

const AGENDA = 'com.example.agenda';
const NEXT = fn(AGENDA, 'agenda.next', {
  idempotent: true,
  inputs: { count: 'int?' },
  returns: { appointments: 'array' },
});
const OPEN = fn('com.example.door', 'open', { inputs: { door: 'string' } });
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const call = (name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id: 2,
  method: 'tools/call',
  params: { name, arguments: args },
});

describe('clients of language models', () => {
  it('need a bearer, which is shown once and kept as a hash', async () => {
    await using bench = await Bench.start();
    bench.functions = [NEXT];
    const token = await bench.add();
    assert.match(token, /^[A-Za-z0-9_-]{43}$/);
    const { clients } = await bench.run('mcp.list');
    assert.equal(JSON.stringify(clients).includes(token), false);
    assert.equal(readFileSync(join(bench.root, 'var/mcp/clients.json'), 'utf8').includes(token), false);
    const { json } = await bench.post(list, { token });
    assert.deepEqual(
      json.result.tools.map(({ name }: { name: string }) => name),
      ['agenda_agenda_next'],
    );
    await assert.rejects(bench.post(list), { code: 'UNAUTHENTICATED' });
    await assert.rejects(bench.post(list, { as: { kind: 'app', id: AGENDA } }), { code: 'CALLER_DENIED' });
    assert.equal((await bench.post(list, { as: OPERATOR })).status, 200);
  });

  it('are refused once they are revoked or expired, and are known after a restart', async () => {
    const root = mkdtempSync(join(tmpdir(), 'mcp-'));
    await using first = await Bench.start({ root });
    const kept = await first.add('kept');
    const gone = await first.add('gone');
    const short = await first.add('short', { days: 1 });
    await first.run('mcp.revoke', { name: 'gone' });
    await assert.rejects(first.run('mcp.revoke', { name: 'gone' }), { code: 'plugin.mcp.CLIENT_NOT_FOUND' });
    await assert.rejects(first.run('mcp.add', { name: 'kept' }), { code: 'PARAMS_INVALID' });
    await using second = await Bench.start({ root });
    assert.equal((await second.post(list, { token: kept })).status, 200);
    await assert.rejects(second.post(list, { token: gone }), { code: 'UNAUTHENTICATED' });
    await second.clock.advance(2 * 86_400_000);
    await assert.rejects(second.post(list, { token: short }), /expired/);
  });

  it('see and call the functions of their apps alone, so many an hour', async () => {
    await using bench = await Bench.start();
    bench.functions = [NEXT, fn('com.example.lamp', 'on', { idempotent: true })];
    const token = await bench.add('narrow', { apps: [AGENDA], callsAnHour: 2 });
    const { json } = await bench.post(list, { token });
    assert.equal(json.result.tools.length, 1);
    assert.match((await bench.post(call('lamp_on'), { token })).json.error.message, /no tool lamp_on/);
    const said = async () => (await bench.post(call('agenda_agenda_next'), { token })).json.result;
    await said();
    await said();
    assert.match((await said()).content[0].text, /RATE_LIMITED/);
    await bench.clock.advance(3_600_000);
    assert.equal((await said()).isError, undefined);
    assert.equal(bench.called.length, 3);
  });

  it('are managed by the operator alone', async () => {
    await using bench = await Bench.start();
    for (const [name, params] of [
      ['mcp.list', {}],
      ['mcp.add', { name: 'x' }],
      ['mcp.revoke', { name: 'x' }],
    ] as const)
      await assert.rejects(bench.run(name, params, { kind: 'app', id: AGENDA }), { code: 'CALLER_DENIED' });
  });
});

describe('a tool call', () => {
  it('gives the model what the app says, and its result beside it', async () => {
    await using bench = await Bench.start();
    bench.functions = [NEXT];
    const token = await bench.add();
    bench.result = async () => ({ appointments: [], say: 'Nothing today.' });
    const { json } = await bench.post(call('agenda_agenda_next', { count: 2 }), { token });
    assert.deepEqual(json.result, {
      content: [{ type: 'text', text: 'Nothing today.' }],
      structuredContent: { appointments: [], say: 'Nothing today.' },
    });
    const [{ app, name, inputs, caller }] = bench.called as [(typeof bench.called)[0]];
    assert.deepEqual(
      { app, name, inputs, caller },
      { app: AGENDA, name: 'agenda.next', inputs: { count: 2 }, caller: { kind: 'plugin', id: 'mcp' } },
    );
    const line = {
      part: 'mcp',
      for: `app.${AGENDA}`,
      to: 'laptop',
      what: 'call',
      details: { function: 'agenda.next', version: '1.0.0' },
    };
    assert.deepEqual(bench.lines, [line]);
  });

  it('that fails is a result that the model reads', async () => {
    await using bench = await Bench.start();
    bench.functions = [NEXT];
    const token = await bench.add();
    bench.result = async () => {
      throw new CoreError('APP_NOT_RUNNING', { app: AGENDA, reason: 'it has stopped' });
    };
    const { json } = await bench.post(call('agenda_agenda_next'), { token });
    assert.equal(json.result.isError, true);
    assert.match(json.result.content[0].text, /^APP_NOT_RUNNING: /);
  });

  it('that the ledger cannot keep gives no result, and is not made where it cannot be repeated', async () => {
    await using bench = await Bench.start();
    bench.functions = [NEXT, OPEN];
    const token = await bench.add();
    bench.ledgerFault = new CoreError('STORAGE_FULL', { path: '/var', reason: 'no space' });
    const said = async (name: string, args?: object) => (await bench.post(call(name, args), { token })).json.result;
    assert.match((await said('door_open', { door: 'x' })).content[0].text, /STORAGE_FULL/);
    assert.deepEqual(bench.called, []);
    assert.match((await said('agenda_agenda_next')).content[0].text, /STORAGE_FULL/);
    await using bare = await Bench.start({ without: ['ledger'] });
    bare.functions = [NEXT];
    assert.match((await bare.post(call('agenda_agenda_next'), { as: OPERATOR })).json.result.content[0].text, /ledger/);
    assert.deepEqual(bare.called, []);
  });

  it('beyond the bound of one client is refused, and another client is served', async () => {
    await using bench = await Bench.start({ config: { atOnce: 2 } });
    bench.functions = [NEXT];
    const [one, other] = [await bench.add('one'), await bench.add('other')];
    const held = Promise.withResolvers<object>();
    bench.result = () => held.promise as never;
    const open = [1, 2].map(() => bench.post(call('agenda_agenda_next'), { token: one }));
    await eventually(() => bench.called.length === 2, 'two calls');
    const { status, json } = await bench.post(list, { token: one });
    assert.deepEqual([status, json.error.data.code], [429, 'BUSY']);
    assert.equal((await bench.post(list, { token: other })).status, 200);
    held.resolve({});
    await Promise.all(open);
  });
});

describe('a call that cannot be repeated', () => {
  const ABILITIES = { elicitation: {} };
  const params = { name: 'door_open', arguments: { door: 'front' } };

  it('is asked of the person at the client, once, for this call', async () => {
    await using bench = await Bench.start();
    bench.functions = [OPEN];
    const token = await bench.add();
    const ask = async (more: object = {}, of: object = params) =>
      (await bench.stateless('tools/call', { ...of, ...more }, ABILITIES, { token })).json;
    const { result } = await ask();
    assert.equal(result.resultType, 'input_required');
    assert.match(
      result.inputRequests.confirm.params.message,
      /May laptop call open of com\.example\.door with \{"door":"front"\}\?/,
    );
    assert.deepEqual(bench.called, []);
    const { requestState } = result;
    const yes = { confirm: { action: 'accept', content: { allow: true } } };
    const REFUSED: readonly (readonly [title: string, more: object, of?: object])[] = [
      ['another door', { inputResponses: yes, requestState }, { ...params, arguments: { door: 'back' } }],
      ['a changed state', { inputResponses: yes, requestState: `${requestState}x` }],
      ['a state that is no text', { inputResponses: yes, requestState: 5 }],
      ['no answers', { requestState, inputResponses: null }],
    ];
    for (const [title, more, of] of REFUSED) assert.equal((await ask(more, of)).error?.code, -32_602, title);
    assert.equal((await ask({ inputResponses: yes })).result.resultType, 'input_required');
    assert.deepEqual(bench.called, []);
    assert.equal((await ask({ inputResponses: yes, requestState })).result.resultType, 'complete');
    assert.equal(bench.called.length, 1);
    assert.match((await ask({ inputResponses: yes, requestState })).error.message, /used already/);
    const later = (await ask()).result.requestState;
    await bench.clock.advance(121_000);
    assert.match((await ask({ inputResponses: yes, requestState: later })).error.message, /two minutes are over/);
    assert.equal(bench.called.length, 1);
    assert.deepEqual(bench.asked, []);
  });

  it('that the person at the client refuses is not made', async () => {
    await using bench = await Bench.start();
    bench.functions = [OPEN];
    const token = await bench.add();
    const NO = [
      { action: 'decline' },
      { action: 'cancel' },
      { action: 'accept' },
      { action: 'accept', content: { allow: false } },
      { action: 'accept', content: { allow: 'true' } },
    ];
    for (const answer of NO) {
      const { requestState } = (await bench.stateless('tools/call', params, ABILITIES, { token })).json.result;
      const more = { ...params, requestState, inputResponses: { confirm: answer } };
      const { result } = (await bench.stateless('tools/call', more, ABILITIES, { token })).json;
      assert.match(result.content[0].text, /CALLER_DENIED/, JSON.stringify(answer));
    }
    assert.deepEqual(bench.called, []);
  });

  it('is asked of the person before the device where the client cannot ask, or may not', async () => {
    for (const [config, abilities] of [
      [{}, {}],
      [{ confirm: 'device' }, ABILITIES],
    ] as const) {
      await using bench = await Bench.start({ config });
      bench.functions = [OPEN];
      const token = await bench.add();
      assert.equal(
        (await bench.stateless('tools/call', params, abilities, { token })).json.result.resultType,
        'complete',
      );
      const [{ kind, subject, title, act, ms }] = bench.asked as [(typeof bench.asked)[0]];
      assert.deepEqual([kind, subject, ms], ['confirm', 'mcp.laptop', 120_000]);
      assert.match(`${title} / ${act}`, /client laptop \/ call open of com\.example\.door with \{"door":"front"\}/);
      bench.person = { state: 'expired' };
      const { result } = (await bench.stateless('tools/call', params, abilities, { token })).json;
      assert.match(result.content[0].text, /no answer came in two minutes/);
      assert.equal(bench.called.length, 1);
    }
  });

  it('takes its question back when the client goes, and asks one at a time', async () => {
    await using bench = await Bench.start();
    bench.functions = [OPEN];
    bench.person = undefined;
    const token = await bench.add();
    const gone = new AbortController();
    const waiting = bench.post(call('door_open', { door: 'front' }), { token, signal: gone.signal });
    await eventually(() => bench.asked.length === 1, 'the question');
    const second = await bench.post(call('door_open', { door: 'back' }), { token });
    assert.match(second.json.result.content[0].text, /BUSY/);
    gone.abort();
    assert.match((await waiting).json.result.content[0].text, /CANCELLED/);
    assert.deepEqual([bench.withdrawn, bench.called], [['mcp.laptop'], []]);
  });

  it('is refused where the device has no way to ask, and after the bearer was revoked meanwhile', async () => {
    await using bare = await Bench.start({ without: ['prompts'] });
    bare.functions = [OPEN];
    assert.match(
      (await bare.post(call('door_open', { door: 'x' }), { as: OPERATOR })).json.result.content[0].text,
      /UNAVAILABLE/,
    );
    await using bench = await Bench.start();
    bench.functions = [OPEN];
    bench.person = undefined;
    const token = await bench.add();
    const waiting = bench.post(call('door_open', { door: 'x' }), { token });
    await eventually(() => bench.asked.length === 1, 'the question');
    await bench.run('mcp.revoke', { name: 'laptop' });
    bench.settle({ allow: ['yes'] });
    assert.match((await waiting).json.result.content[0].text, /revoked/);
    assert.deepEqual([...bare.called, ...bench.called], []);
  });
});

describe('messages', () => {
  it('of both revisions are answered', async () => {
    await using bench = await Bench.start();
    const token = await bench.add();
    const hello = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {} },
    };
    assert.equal((await bench.post(hello, { token })).json.result.protocolVersion, '2025-06-18');
    assert.equal((await bench.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, { token })).status, 202);
    assert.deepEqual((await bench.post({ jsonrpc: '2.0', id: 'a', method: 'ping' }, { token })).json, {
      jsonrpc: '2.0',
      id: 'a',
      result: {},
    });
    const { result } = (await bench.stateless('server/discover', {}, {}, { token })).json;
    assert.deepEqual(
      [result.supportedVersions, result.resultType, result.cacheScope],
      [['2026-07-28'], 'complete', 'private'],
    );
    assert.equal((await bench.stateless('initialize', {}, {}, { token })).status, 404);
    assert.equal(
      (
        await bench.answer({
          method: 'GET',
          headers: {},
          body: undefined,
          signal: new AbortController().signal,
          caller: async () => OPERATOR,
          turn: async () => undefined,
        })
      ).status,
      405,
    );
  });

  it('that are none are refused by code', async () => {
    await using bench = await Bench.start();
    const BAD: readonly (readonly [title: string, body: unknown, code: number, headers?: Record<string, string>])[] = [
      ['a batch', [list], -32_600],
      ['no object', 'x', -32_600],
      ['another version of JSON-RPC', { ...list, jsonrpc: '1.0' }, -32_600],
      ['an id that is an object', { ...list, id: {} }, -32_600],
      ['params that are a list', { ...list, params: [] }, -32_602],
      ['_meta that is a text', { ...list, params: { _meta: 'x' } }, -32_602],
      ['an unknown method', { ...list, method: 'nothing/here' }, -32_601],
      ['a tool without a name', { ...list, method: 'tools/call', params: {} }, -32_602],
      ['a tool by a name of objects', { ...list, method: 'tools/call', params: { name: '__proto__' } }, -32_602],
      ['arguments that are a list', { ...list, method: 'tools/call', params: { name: 'x', arguments: [] } }, -32_602],
      ['a header of another method', message('tools/list'), -32_020, { ...headersOf('prompts/list') }],
      ['no header of the method', message('tools/list'), -32_020, { 'mcp-protocol-version': '2026-07-28' }],
      [
        'a name that the header does not say',
        message('tools/call', { name: 'a' }),
        -32_020,
        headersOf('tools/call', { name: 'b' }),
      ],
      [
        'a header of another revision',
        message('tools/list'),
        -32_020,
        { ...headersOf('tools/list'), 'mcp-protocol-version': '2025-11-25' },
      ],
      ['no abilities', { ...list, params: {} }, -32_602, headersOf('tools/list')],
      [
        'a resource that there is not',
        { ...list, method: 'resources/read', params: { uri: 'device://sensors/none' } },
        -32_602,
      ],
    ];
    for (const [title, body, code, headers = {}] of BAD) {
      const { json, status } = await bench.post(body, { as: OPERATOR, headers });
      assert.equal(json.error?.code, code, `${title}: ${JSON.stringify(json)}`);
      assert.ok(status >= 200 && status < 500, title);
    }
    const fault = new CoreError('BODY_TOO_LARGE', { limit: 5, what: 'request body' });
    assert.equal((await bench.post(undefined, { as: OPERATOR, fault })).status, 413);
  });

  it('of any content are answered and never throw', async () => {
    await using bench = await Bench.start();
    bench.functions = [NEXT, OPEN];
    const method = fc.constantFrom(
      'tools/call',
      'tools/list',
      'resources/read',
      'initialize',
      'ping',
      'server/discover',
      'x',
    );
    const body = fc.oneof(
      fc.jsonValue(),
      fc.record({ jsonrpc: fc.constant('2.0'), id: fc.jsonValue(), method, params: fc.jsonValue() }),
    );
    await fc.assert(
      fc.asyncProperty(body, async (one) => {
        const { status, json } = await bench.post(one, { as: OPERATOR });
        assert.ok(status === 202 || json.jsonrpc === '2.0');
      }),
      { numRuns: runs(300) },
    );
  });

  it('about resources read the device and its sensors', async () => {
    await using bench = await Bench.start();
    const read = async (uri: string) => {
      const { json } = await bench.post({ ...list, method: 'resources/read', params: { uri } }, { as: OPERATOR });
      return JSON.parse(json.result.contents[0].text);
    };
    assert.deepEqual((await read('device://sensors/climate')).values, { temperature: 21 });
    assert.equal((await read('device://info')).sku.id, 'test');
  });

  it('about sensors are refused to a bearer that names none of them, and are not listed for it', async () => {
    await using bench = await Bench.start();
    const open = await bench.add('reader', { apps: [AGENDA], sensors: ['climate'] });
    const CLIMATE = 'device://sensors/climate';
    const denied = (client: string, sensor: string) =>
      `client ${client} does not hold sensors.${sensor}; grant it with "devicectl mcp add NAME --sensors ${sensor}"`;
    const ROWS: readonly [name: string, token: string, uri: string, refusal: string | undefined][] = [
      ['no limit', await bench.add('all'), CLIMATE, denied('all', 'climate')],
      ['apps alone', await bench.add('few', { apps: [AGENDA] }), CLIMATE, denied('few', 'climate')],
      ['another sensor', await bench.add('door', { sensors: ['door'] }), CLIMATE, denied('door', 'climate')],
      ['a sensor that there is not', open, 'device://sensors/none', denied('reader', 'none')],
      ['its sensor', open, CLIMATE, undefined],
      ['the device', await bench.add('any'), 'device://info', undefined],
    ];
    for (const [title, token, uri, refusal] of ROWS) {
      const { json } = await bench.post({ ...list, method: 'resources/read', params: { uri } }, { token });
      assert.equal(json.error?.message, refusal, title);
      assert.equal(json.error?.data.code, refusal && 'CAPABILITY_DENIED', title);
      const listed = (await bench.post({ ...list, method: 'resources/list' }, { token })).json.result.resources;
      const isListed = listed.some((one: { readonly uri: string }) => one.uri === CLIMATE);
      assert.equal(isListed, token === open, title);
    }
    const { clients } = await bench.run('mcp.list');
    assert.deepEqual(clients[0].sensors, ['climate']);
  });

  it('on a stream tell when the list of tools changed, to those who asked', async () => {
    await using bench = await Bench.start();
    const over = new AbortController();
    const open = async (notifications: object) => {
      const body = message('subscriptions/listen', { notifications }, {}, 9);
      const request = {
        method: 'POST',
        headers: headersOf('subscriptions/listen'),
        body,
        signal: over.signal,
        caller: async () => OPERATOR,
        turn: async () => undefined,
      };
      return (await bench.answer(request)).events![Symbol.asyncIterator]();
    };
    const tools = await open({ toolsListChanged: true });
    const none = await open({ promptsListChanged: true });
    for (const stream of [tools, none]) {
      const { method, params } = (await stream.next()).value as { method: string; params: { _meta: object } };
      assert.equal(method, 'notifications/subscriptions/acknowledged');
      assert.deepEqual(params._meta, { 'io.modelcontextprotocol/subscriptionId': 9 });
    }
    const [news, silence] = [tools.next(), none.next()];
    await new Promise(setImmediate);
    bench.change();
    assert.equal(((await news).value as { method: string }).method, 'notifications/tools/list_changed');
    over.abort();
    assert.equal((await silence).done, true);
    await tools.return?.();
  });
});

describe('names of tools', () => {
  it('fit every client, collide never, and stand for their functions', () => {
    const name = fc.stringMatching(/^[a-z][A-Za-z0-9_]{0,80}(\.[A-Za-z0-9_]{1,40})?$/);
    const app = fc.stringMatching(/^[a-z]{1,3}\.[a-z]{1,3}\.[a-z-]{1,40}$/);
    fc.assert(
      fc.property(fc.array(fc.record({ app, name }), { maxLength: 30 }), (list) => {
        const functions = list.map((one) => fn(one.app, one.name));
        const tools = toolsOf(functions);
        const names = tools.map((tool) => tool.name);
        assert.equal(new Set(names).size, names.length);
        for (const tool of tools) assert.match(tool.name, /^[A-Za-z0-9_-]{1,64}$/);
        const ids = new Set(functions.map(({ id }) => id));
        assert.equal(tools.length, ids.size);
      }),
      { numRuns: runs(300) },
    );
    const [same, other] = toolsOf([fn('a.b.app', 'do'), fn('c.d.app', 'do')]);
    assert.match(same!.name, /^app_do_[0-9a-f]{8}$/);
    assert.match(other!.description, /\([ac]\.[bd]\.app\/do\)/);
  });

  it('of the newest version count once, and give way to three generic tools above forty', async () => {
    assert.equal(toolsOf([fn('a.b.c', 'x', { version: '2.0.0' }), fn('a.b.c', 'x')])[0]!.of.version, '2.0.0');
    await using bench = await Bench.start();
    bench.functions = Array.from({ length: 41 }, (_, index) => fn('a.b.many', `f${index}`, { idempotent: true }));
    assert.ok(isTooMany(toolsOf(bench.functions)));
    const { json } = await bench.post(list, { as: OPERATOR });
    assert.deepEqual(
      json.result.tools.map(({ name }: { name: string }) => name),
      ['find_functions', 'describe_function', 'call_function'],
    );
    const ask = async (name: string, args: object) => (await bench.post(call(name, args), { as: OPERATOR })).json;
    assert.equal((await ask('find_functions', { word: 'F40' })).result.structuredContent.functions.length, 1);
    assert.equal((await ask('describe_function', { name: 'many_f7' })).result.structuredContent.name, 'many_f7');
    assert.equal((await ask('call_function', { name: 'many_f7', inputs: { a: 1 } })).result.isError, undefined);
    assert.deepEqual(
      bench.called.map(({ name, inputs }) => [name, inputs]),
      [['f7', { a: 1 }]],
    );
    assert.equal((await ask('call_function', { name: 'many_f99' })).error.code, -32_602);
  });
});
