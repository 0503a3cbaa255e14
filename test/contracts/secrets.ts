/** What every plugin that keeps secrets must do, whatever it keeps them in: who may use which, bounds, what is refused, and what is told. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { LONGEST_SECRET, Secret } from '@device-core/plugin-api';
import { secretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import { type VirtualClock, virtualClock } from '@device-core/plugin-api/testing';
import { FULL } from '../fixtures/runs.ts';
import { AGENDA, asApp, healthOf, type Started, TEXT } from '../fixtures/secrets-device.ts';

export interface SecretsUnderTest {
  /** Of the plugin. */
  readonly id: string;
  /** Without a `place` an empty one. */
  start(inForce?: object, options?: { readonly place?: string; readonly clock?: VirtualClock }): Promise<Started>;
  /** An empty one: what starts there finds what was left there. */
  place(): string;
  /** What starts there next cannot open its vault, until the answer is called. */
  shut(place: string): () => void;
  readonly whenShut: { readonly code: string; readonly remedy: RegExp };
  /** Codes of the health of an open vault that has a secret. */
  readonly told: readonly string[];
  /** Why it has no place for what all may have here. */
  readonly noRoom: string | false;
}

/** Declares the tests; call it inside a `describe`. */
export function secretsContract(target: SecretsUnderTest): void {
  const { noRoom } = target;

  it('are read by their owner alone, counted, and listed without their texts', async () => {
    const started = await target.start({ nested: [{ key: { secret: 'cloud.token' } }], not: { secret: 'x', more: 1 } });
    await using host = started.host;
    const { table, viewOf } = started;
    const [a, b] = [viewOf('a'), viewOf('b')];
    await a.set('token', TEXT);
    const secret = await a.get('token');
    assert.ok(secret instanceof Secret);
    assert.deepEqual(
      [`${secret}`, JSON.stringify(secret), secret.name],
      ['[secret token]', '"[secret token]"', 'token'],
    );
    assert.equal(await secret.reveal(), TEXT);
    assert.equal(Buffer.from(await secret.revealBytes()).toString(), TEXT);
    await assert.rejects(b.get('token'), { code: 'SECRET_NOT_FOUND', message: /--scope plugin\.b"$/ });
    await assert.rejects(b.delete('token'), { code: 'SECRET_NOT_FOUND', message: 'there is no secret plugin.b/token' });
    await table.run('secrets.set', { name: 'cloud.token', secretText: TEXT });
    await table.run('secrets.set', { name: 'x', secretText: TEXT });
    assert.equal(await (await a.get({ secret: 'cloud.token' })).reveal(), TEXT);
    for (const ref of [{ secret: 'x' }, { secret: 'token' }])
      await assert.rejects(a.get(ref), { code: 'SECRET_DENIED', message: /^plugin\.a may not use/ });
    await assert.rejects(b.get({ secret: 'cloud.token' }), { code: 'SECRET_DENIED' });
    assert.deepEqual(
      (await a.list()).map(({ name, setBy, reads }) => [name, setBy, reads]),
      [
        ['token', 'plugin.a', 2],
        ['cloud.token', 'operator', 1],
      ],
    );
    const { secrets: all } = await table.run<{ secrets: object[] }>('secrets.list', {});
    assert.equal(all.length, 3);
    for (const said of [all, host.logged, host.published]) assert.ok(!JSON.stringify(said).includes(TEXT));
    await a.delete('token');
    await assert.rejects(secret.reveal(), { code: 'SECRET_NOT_FOUND' });
  });

  it('are there after the plugin was started again, and hidden in what is written before anybody asked', async () => {
    const place = target.place();
    const first = await target.start({}, { place });
    await first.viewOf('a').set('token', TEXT);
    await first.host.stop();
    const second = await target.start({}, { place });
    await using host = second.host;
    const hidden = await host.serviceFor(secretScan, { plugin: 'supervisor-process' }).hide([`it is ${TEXT}`]);
    assert.deepEqual(hidden, ['it is [secret]']);
    assert.deepEqual(
      (await second.viewOf('a').list()).map(({ name, setBy, reads }) => [name, setBy, reads]),
      [['token', 'plugin.a', 0]],
    );
    assert.equal(await (await second.viewOf('a').get('token')).reveal(), TEXT);
    assert.deepEqual(await healthOf(second), target.told);
  });

  it('of a vault that is shut are refused with what to do, in the health and as an event, until it is open again', async () => {
    const place = target.place();
    const clock = virtualClock();
    const first = await target.start({}, { place, clock });
    await first.viewOf('a').set('token', TEXT);
    await first.host.stop();
    const open = target.shut(place);
    const second = await target.start({ key: { secret: 'cloud.token' } }, { place, clock });
    await using host = second.host;
    const states = () =>
      host.published
        .filter(({ topic }) => topic === 'secrets.state')
        .map(({ payload }) => payload as { readonly state: string; readonly code?: string; readonly reason?: string });
    const { code, remedy } = target.whenShut;
    assert.deepEqual([states().length, states()[0]?.state, states()[0]?.code], [1, 'locked', code]);
    assert.match(states()[0]!.reason!, remedy);
    assert.deepEqual(await healthOf(second), [`${target.id} error ${code}`, `a.secrets waiting ${code}`]);
    const [view, { table }] = [second.viewOf('a'), second];
    const refused: readonly (() => Promise<unknown>)[] = [
      ...[() => view.get('token'), () => view.set('token', 'newer'), () => view.delete('token')],
      () => table.run('secrets.missing', {}),
      () => table.run('secrets.rotate', {}),
      () => table.run('secrets.list', { scope: 'plugin.b' }),
      () => table.run('secrets.get', { name: 'token' }, asApp()),
    ];
    for (const ask of refused)
      await assert.rejects(ask(), (error: Error & { code?: string; details?: { readonly state?: unknown } }) => {
        assert.deepEqual([error.code, error.details?.state], ['SECRETS_LOCKED', 'locked']);
        return assert.match(error.message, remedy) ?? true;
      });
    // Names, where they are known without the key; never a list that looks empty.
    const listed = await table.run<{ secrets: object[]; locked?: string; state?: string }>('secrets.list', {}).then(
      ({ secrets, locked = '', state }) => [secrets.length, state, remedy.test(locked)],
      (error: Error & { code?: string }) => [error.code, remedy.test(error.message)],
    );
    assert.ok(
      [
        [1, 'locked', true],
        ['SECRETS_LOCKED', true],
      ].some((one) => isDeepStrictEqual(one, listed)),
      JSON.stringify(listed),
    );
    open();
    await clock.advance(1_000);
    assert.equal(await (await view.get('token')).reveal(), TEXT);
    assert.deepEqual(
      states().map(({ state }) => state),
      ['locked', 'open'],
    );
    assert.deepEqual(await healthOf(second), [...target.told, 'a.secrets waiting SECRET_NOT_FOUND']);
  });

  it('may be set by two at once, and each finds its own', async () => {
    const started = await target.start();
    await using _host = started.host;
    const views = ['a', 'b', 'c'].map((id) => started.viewOf(id));
    const names = Array.from({ length: 10 }, (_, index) => `name-${index}`);
    await Promise.all(views.flatMap((view, index) => names.map((name) => view.set(name, `${TEXT} ${index} ${name}`))));
    for (const [index, view] of views.entries())
      for (const name of names) assert.equal(await (await view.get(name)).reveal(), `${TEXT} ${index} ${name}`);
  });

  it('have bounds: of those that wait, and of those that are kept', { skip: noRoom }, async () => {
    const started = await target.start();
    await using _host = started.host;
    const view = started.viewOf('a');
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10_000 }, (_, index) => view.set(`n${index}`, TEXT)),
    );
    const codes = Object.groupBy(outcomes, (one) => (one.status === 'fulfilled' ? 'set' : String(one.reason.code)));
    assert.deepEqual(Object.fromEntries(Object.entries(codes).map(([code, all]) => [code, all!.length])), {
      set: 16,
      QUEUE_FULL: 9_984,
    });
    const { table } = started;
    for (let index = 16; index < 256; index++)
      await table.run('secrets.set', { scope: 'plugin.a', name: `n${index}`, secretText: TEXT });
    await assert.rejects(view.set('more', TEXT), { code: 'PARAMS_INVALID', message: /plugin\.a has 256 already/ });
    await view.set('n1', 'another text');
    await started.viewOf('b').set('more', TEXT);
  });

  it('have bounds in bytes: one takes 512 KiB, and all of them leave room for the operator', {
    skip: noRoom,
  }, async () => {
    const started = await target.start();
    await using _host = started.host;
    const long = 'x'.repeat(LONGEST_SECRET);
    const set = (scope: string, name: string) =>
      started.table.run('secrets.set', { scope, name, secretText: long }).then(
        () => 'set',
        (error: Error) => error.message,
      );
    const filling = async (scope: string) => {
      for (let index = 0; index < 40; index++) {
        const said = await set(scope, `n${index}`);
        if (said !== 'set') return said;
      }
      return undefined;
    };
    assert.match(String(await filling('plugin.a')), /plugin\.a would have more than 524288 bytes/);
    assert.equal(await set('plugin.a', 'n0'), 'set', 'one is replaced');
    if (FULL) {
      for (const id of 'bcdef') assert.match(String(await filling(`plugin.${id}`)), /plugin\.. would have more/);
      assert.match(String(await filling('plugin.g')), /all of them would have more than 3145728 bytes/);
    }
    assert.equal(await set('shared', 'n0'), 'set');
    assert.equal(await set('core', 'n0'), 'set');
  });

  it('are changed 30 times a minute by one plugin, and as often as the operator likes', async () => {
    const clock = virtualClock();
    const started = await target.start({}, { clock });
    await using _host = started.host;
    const view = started.viewOf('a');
    for (let count = 0; count < 30; count++) await view.set('token', `${TEXT} ${count}`);
    const refused = { code: 'RATE_LIMITED', details: { caller: 'plugin.a', retryAfterMs: 2_000 } } as const;
    for (const change of [() => view.set('token', TEXT), () => view.delete('token')])
      await assert.rejects(change(), (error: Error & { code?: string; details?: Record<string, unknown> }) => {
        assert.deepEqual([error.code, error.details?.caller], [refused.code, refused.details.caller]);
        assert.equal(error.details?.retryAfterMs, 2_000);
        return true;
      });
    await started.viewOf('b').set('token', TEXT);
    for (let count = 0; count < 40; count++)
      await started.table.run('secrets.set', { scope: 'plugin.a', name: 'token', secretText: `${TEXT} ${count}` });
    await clock.advance(2_000);
    await view.set('token', TEXT);
    assert.equal(await (await view.get('token')).reveal(), TEXT);
  });

  it('tell 64 listeners of one plugin of a change, the newest, and those of another one all the same', async () => {
    const started = await target.start();
    await using host = started.host;
    const heard: number[] = [];
    const [a, b] = [started.viewOf('a'), started.viewOf('b')];
    await b.onChange(() => void heard.push(-1));
    for (let index = 0; index < 65; index++) await a.onChange(() => void heard.push(index));
    await a.set('token', TEXT);
    await b.set('token', TEXT);
    await host.settle();
    assert.deepEqual(
      [heard.length, heard.includes(0), heard.includes(64), heard.includes(-1)],
      [65, false, true, true],
    );
  });

  const NAMES: readonly unknown[] = [
    ...['', ' ', '.', '..', '../shared/x', 'a/b', 'a\\b', '/etc/passwd', 'a..b', 'a.', '.a', '1a', 'A', 'ä', 'a b'],
    ...['a\0', 'a\n', '\u001b[2J', 'a\u202e', '%2e%2e', '__proto__', 'a'.repeat(129), '\ud800', 7, null, undefined, {}],
    ...[[], { secret: '' }, { secret: '../x' }, { secret: 7 }],
  ];
  it('have names, and nothing else is one', async () => {
    const started = await target.start();
    await using host = started.host;
    const view = started.viewOf('a');
    for (const name of NAMES) {
      const refused = { code: 'PARAMS_INVALID' };
      await assert.rejects(view.get(name as string), refused, JSON.stringify(name));
      await assert.rejects(view.set(name as string, TEXT), refused, JSON.stringify(name));
      await assert.rejects(view.delete(name as string), refused, JSON.stringify(name));
      for (const scope of ['shared', 'plugin.a'])
        await assert.rejects(started.table.run('secrets.set', { scope, name, secretText: TEXT }), refused);
    }
    for (const scope of ['', 'all', 'plugin', 'plugin.', 'plugin.A', 'app.x', 'shared/..', '../shared', 'operator'])
      await assert.rejects(started.table.run('secrets.set', { scope, name: 'a', secretText: TEXT }), {
        code: 'PARAMS_INVALID',
      });
    assert.deepEqual(await started.table.run('secrets.list', {}), { secrets: [] });
    assert.ok(!JSON.stringify(host.logged).includes(TEXT));
  });

  const TEXTS: readonly (readonly [what: string, text: unknown, says: RegExp | undefined])[] = [
    ['nothing', '', /empty/],
    ['a number', 7, /text|string/],
    ['half a character', 'abcdefgh\ud800', /Unicode/],
    ['16 KiB and one', 'x'.repeat(LONGEST_SECRET + 1), /more than 16384 bytes/],
    ['as many in bytes', 'ä'.repeat(LONGEST_SECRET / 2 + 1), /more than 16384 bytes/],
    ['7 characters, shared', '1234567', /8 characters or more/],
    ['16 KiB', 'x'.repeat(LONGEST_SECRET), undefined],
    ['quotes, ends of lines, what ends JSON, what regular expressions know', '"\r\n"}.*+?^$()|[]{}\\', undefined],
    ['a zero and an emoji', 'a\0b\u{1f511}cdef', undefined],
    ['a common word', 'password', undefined],
  ];
  for (const [what, text, says] of TEXTS)
    it(`${says ? 'cannot be' : 'can be'} ${what}`, async () => {
      const started = await target.start();
      await using _host = started.host;
      const set = started.table.run('secrets.set', { scope: 'shared', name: 'a', secretText: text });
      if (says)
        return await assert.rejects(set, (error: Error & { code?: string }) => {
          assert.equal(error.code, 'PARAMS_INVALID');
          assert.match(error.message, says);
          return assert.ok(String(text).length < 9 || !error.message.includes(String(text).slice(0, 9))) ?? true;
        });
      await set;
      await started.table.run('secrets.set', { scope: 'plugin.a', name: 'a', secretText: text });
      assert.equal(await (await started.viewOf('a').get('a')).reveal(), text);
    });

  it('that are short are taken with a warning where they are not shared', async () => {
    const started = await target.start();
    await using host = started.host;
    const { warning } = await started.table.run('secrets.set', { scope: 'plugin.a', name: 'pin', secretText: '4711' });
    assert.match(String(warning), /fewer than 8 characters/);
    assert.ok(host.logged.some((line) => /fewer than 8/.test(JSON.stringify(line))));
    assert.ok(!JSON.stringify(host.logged).includes('4711'));
  });

  it('that are names of apps, plugins, capabilities or errors are taken with a warning, and hide nothing in the log', async () => {
    const { host, table } = await target.start();
    await using _host = host;
    for (const text of [AGENDA, 'com.example.other', 'other-agenda', 'secrets-file', 'bridges.spi', 'STATE_NEWER']) {
      const asked = { scope: `app.${AGENDA}`, name: 'token', secretText: text };
      const { warning } = await table.run('secrets.set', asked);
      assert.match(String(warning), /part of the name/, text);
      const { warning: ofApp } = await table.run('secrets.set', asked, asApp());
      assert.equal(ofApp !== undefined, text === AGENDA, `an app learns nothing of others: ${text}`);
      const line = JSON.stringify({ level: 30, app: AGENDA, msg: `it is ${text}` });
      assert.equal(host.hook('log.line').call(line), line, text);
    }
  });

  it('are looked for in the log with their 16 newest texts, and the health tells of older ones', async () => {
    const started = await target.start();
    await using _host = started.host;
    const set = (index: number) =>
      started.table.run('secrets.set', { name: 'cloud.token', secretText: `${TEXT}-${index}` });
    for (let index = 0; index < 16; index++) await set(index);
    assert.deepEqual(await healthOf(started), target.told);
    await set(16);
    assert.match(JSON.stringify(await healthOf(started)), /SECRETS_FORGOTTEN/);
  });

  it('are missing where a configuration names them and nobody has set them; the command that sets them is told', async () => {
    const started = await target.start({ key: { secret: 'cloud.token' }, again: [{ secret: 'cloud.token' }] });
    await using _host = started.host;
    const missing = () => started.table.run('secrets.missing', {});
    assert.deepEqual(await missing(), {
      missing: [{ plugin: 'a', name: 'cloud.token', command: 'devicectl secret set cloud.token' }],
    });
    assert.ok((await healthOf(started)).includes('a.secrets waiting SECRET_NOT_FOUND'));
    await started.table.run('secrets.set', { name: 'cloud.token', secretText: TEXT });
    assert.deepEqual([await missing(), await healthOf(started)], [{ missing: [] }, target.told]);
  });

  it('are taken for a scope of which nobody is here, with a warning', async () => {
    const started = await target.start();
    await using _host = started.host;
    const cases = [
      ['plugin.a', {}],
      ['plugin.nonexist', { warning: 'no plugin nonexist runs here' }],
      [`app.${AGENDA}`, {}],
      ['app.org.none', { warning: 'no app org.none is installed here' }],
      ['core', {}],
    ] as const;
    for (const [scope, answer] of cases)
      assert.deepEqual(await started.table.run('secrets.set', { scope, name: 'token', secretText: TEXT }), answer);
  });

  it('are what they were after they were sealed anew, and how many they are is told', async () => {
    const started = await target.start();
    await using _host = started.host;
    assert.deepEqual(await started.table.run('secrets.rotate', {}), { secrets: 0 });
    const view = started.viewOf('a');
    await view.set('token', TEXT);
    const secret = await view.get('token');
    assert.deepEqual(await started.table.run('secrets.rotate', {}), { secrets: 1 });
    assert.equal(await secret.reveal(), TEXT);
  });

  it('are rotated under who watches: own and shared ones that are named are told, and read anew', async () => {
    const started = await target.start({ key: { secret: 'cloud.token' } });
    await using host = started.host;
    const heard: string[] = [];
    const view = started.viewOf('a');
    const watching = await view.onChange((name) => void heard.push(name));
    const set = (scope: string, name: string, secretText: string) =>
      started.table.run('secrets.set', { scope, name, secretText });
    for (const [scope, name] of [
      ['shared', 'cloud.token'],
      ['shared', 'other'],
      ['plugin.a', 'own'],
      ['plugin.b', 'own'],
    ] as const)
      await set(scope, name, TEXT);
    const secret = await view.get({ secret: 'cloud.token' });
    assert.equal(await secret.reveal(), TEXT);
    await set('shared', 'cloud.token', `${TEXT} 2`);
    assert.equal(await secret.reveal(), `${TEXT} 2`, 'the same object has the new text');
    await started.table.run('secrets.delete', { scope: 'plugin.a', name: 'own' });
    await host.settle();
    assert.deepEqual(heard, ['cloud.token', 'own', 'cloud.token', 'own']);
    watching[Symbol.dispose]();
    await set('plugin.a', 'own', TEXT);
    await host.settle();
    assert.equal(heard.length, 4);
  });
}
