/** The keys of browsers that stay signed in, in their file: kept, damaged, of a newer Core, wiped. */
import assert from 'node:assert/strict';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { sessions } from '@device-core/plugin-api/inside/services/sessions';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { createTestHost, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/interface/identity/index.ts';
import { HERE, KeyOfBrowser } from '../web/browser.ts';

after(leakCheck());

const manifest = new URL('../../../manifests/plugins/interface/identity.yaml', import.meta.url).pathname;

/** `info`: of the device; on its folders it finds what a former one left. */
async function started(info?: DeviceInfo) {
  const services = info === undefined ? [] : [[device, { info: async () => info }] as const];
  const host = await createTestHost(plugin, { manifest, clock: virtualClock(), services });
  const service = host.service(sessions);
  return {
    host,
    service,
    file: join(host.device.paths.var, 'browsers/keys.json'),
    who: (token: string) => host.service(identity).authenticate({ transport: 'tcp', token }),
    sign: async (own: KeyOfBrowser, id: string) => own.proof(id, (await service.challenge(id, HERE)).challenge),
    keep: async (own: KeyOfBrowser) => service.open((await service.invite('operator')).code, 'Firefox', own.key),
    async warnings() {
      const codes: string[] = [];
      await host
        .hook('health.collect')
        .promise({ add: () => undefined, bridge: () => undefined, warn: (code) => void codes.push(code) });
      return codes;
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  };
}

test('a key outlives the Core, in a file of the Core alone that opens no door; a challenge does not', async () => {
  await using first = await started();
  const own = new KeyOfBrowser();
  const { browser = '' } = (await first.keep(own)).session;
  assert.equal((await stat(first.file)).mode & 0o777, 0o600);
  const { browsers, state } = JSON.parse(await readFile(first.file, 'utf8'));
  assert.deepEqual(Object.keys(browsers[0]).sort(), ['id', 'key', 'lastUsed', 'name', 'role', 'since']);
  assert.match(state, /^[\w-]{12}$/);
  const early = await first.sign(own, browser);
  await using again = await started(first.host.device);
  await assert.rejects(again.service.resume(early), { code: 'UNAUTHENTICATED' });
  const { token } = await again.service.resume(await again.sign(own, browser));
  await again.who(token);
});

test('a reset takes the keys, and every session with them, though <run> still holds it', async () => {
  await using first = await started();
  const own = new KeyOfBrowser();
  const kept = await first.keep(own);
  const other = await first.service.open((await first.service.invite('operator')).code, 'Chromium');
  await rm(join(first.host.device.paths.var, 'browsers'), { recursive: true });
  await using again = await started(first.host.device);
  await assert.rejects(again.service.challenge(kept.session.browser!, HERE), { code: 'BROWSER_UNKNOWN' });
  await assert.rejects(again.who(kept.token), { code: 'UNAUTHENTICATED' });
  await assert.rejects(again.who(other.token), { code: 'UNAUTHENTICATED' });
});

for (const [what, damaged] of [
  ['cut short', (good: string) => good.slice(0, 60)],
  ['empty', () => ''],
  ['with a role of its own', (good: string) => good.replace('"operator"', '"root"')],
  [
    'with a point that is not on the curve',
    (good: string, key: string) => good.replace(key, `${key.slice(0, -6)}AAAAAA`),
  ],
] as const)
  test(`a file ${what} lets no browser in, is set aside and told; the next browser is kept`, async () => {
    await using first = await started();
    const own = new KeyOfBrowser();
    const { browser = '' } = (await first.keep(own)).session;
    const text = damaged(await readFile(first.file, 'utf8'), own.key);
    for (const name of [first.file, `${first.file}.last-good`]) await writeFile(name, text);
    await using again = await started(first.host.device);
    await assert.rejects(again.service.challenge(browser, HERE), { code: 'BROWSER_UNKNOWN' });
    assert.deepEqual(await again.warnings(), ['STATE_CORRUPT']);
    const next = (await again.keep(own)).session.browser!;
    await again.service.resume(await again.sign(own, next));
  });

test('a file of a newer Core is left alone: no browser comes in by it, and none is kept', async () => {
  await using first = await started();
  const { browser = '' } = (await first.keep(new KeyOfBrowser())).session;
  await writeFile(first.file, '{"format":9}');
  await using again = await started(first.host.device);
  await assert.rejects(again.service.challenge(browser, HERE), { code: 'BROWSER_UNKNOWN' });
  const { token, session } = await again.keep(new KeyOfBrowser());
  assert.equal(session.browser, undefined);
  const caller = await again.who(token);
  await assert.rejects(again.service.stay(caller, 'Firefox', new KeyOfBrowser().key), { code: 'STATE_NEWER' });
  assert.deepEqual(await again.service.browsers(), []);
  assert.equal(await readFile(first.file, 'utf8'), '{"format":9}');
  assert.deepEqual(await again.warnings(), ['STATE_NEWER']);
});
