/** Bad neighbours of the page, and a Core that goes away under it: foreign pages, frames, another port, a kill and a restart. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { CoreProcess, TemporaryRoot } from '../fixtures/core-process.ts';
import { eventually } from '../fixtures/eventually.ts';
import { noBrowser, openBrowser } from './browser.ts';

const SKU = ['--sku', new URL('../../manifests/skus/simulator.yaml', import.meta.url).pathname];

/** A port of this machine that hopes for credentials. */
async function neighbour(body: (core: string) => string, core: string) {
  const asked: IncomingHttpHeaders[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(request.headers);
    response.writeHead(200, { 'content-type': 'text/html', 'access-control-allow-origin': '*' });
    response.end(body(core));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { asked, origin, [Symbol.dispose]: stop };
}

describe('the page', { skip: noBrowser }, () => {
  const root = new TemporaryRoot();
  let core: CoreProcess;
  let browser: Browser;
  let origin: string;

  const start = async (port = 0) => {
    core = await CoreProcess.start(root.path, ...SKU, '--port', String(port));
    origin = /http:\/\/127\.0\.0\.1:\d+/.exec(core.out)![0];
  };
  const signedIn = async (): Promise<Page> => {
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    const { body } = await core.post('/sessions/codes', { role: 'operator' });
    await page.goto(`${origin}/ui/#code=${body.code}`);
    await page.locator('main#main').waitFor();
    return page;
  };
  before(async () => {
    await start();
    browser = await openBrowser();
  });
  after(async () => {
    await browser.close();
    await core[Symbol.asyncDispose]();
    root[Symbol.dispose]();
  });

  test('is printed by the Core as a command, leaves no code in the address and no cookie', async () => {
    assert.match(core.out, /page {6}npm run -s devicectl -- --root .*web\n/);
    const page = await signedIn();
    assert.ok(!page.url().includes('code='));
    assert.deepEqual(await page.context().cookies(), []);
    await page.context().close();
  });

  test('stands in no frame, and gives another port of this machine neither token nor cookie', async () => {
    using evil = await neighbour((core) => `<iframe src="${core}/ui/"></iframe>`, origin);
    const page = await signedIn();
    const refused = page.waitForEvent('console', (message) => /frame-ancestors/.test(message.text()));
    await page.goto(evil.origin);
    await refused;
    assert.equal(await page.evaluate('sessionStorage.length + localStorage.length'), 0);
    assert.equal(
      await page.evaluate(
        'frames.length === 1 && (() => { try { return frames[0].document.body.innerHTML; } catch { return ""; } })()',
      ),
      '',
    );
    for (const { cookie, authorization } of evil.asked)
      assert.deepEqual([cookie, authorization], [undefined, undefined]);

    const outcomes = await page.evaluate(`Promise.all([
      fetch('${origin}/sessions').then(() => 'read', () => 'refused'),
      fetch('${origin}/sessions', { mode: 'no-cors', method: 'POST', body: '{"code":"AAAA-AAAA"}' }).then((a) => a.type, () => 'refused'),
      fetch('${origin}/ui/').then(() => 'read', () => 'refused'),
      new Promise((resolve) => { const s = new WebSocket('${origin.replace('http', 'ws')}/ui/live', ['device.live.v1', 'x']); s.onopen = () => resolve('open'); s.onerror = () => resolve('refused'); }),
    ])`);
    assert.deepEqual(outcomes, ['refused', 'opaque', 'refused', 'refused']);
    // The code of a stranger was not even counted: his request was refused by its origin.
    for (let times = 0; times < 6; times += 1)
      await page.evaluate(
        `fetch('${origin}/sessions', { mode: 'no-cors', method: 'POST', body: '{"code":"AAAA-AAAA"}' })`,
      );
    await (await signedIn()).context().close();
    await page.context().close();
  });

  test('runs no script of an app or of a stranger, and asks no other host', async () => {
    const page = await signedIn();
    const met = await page.evaluate(`(async () => {
      const tried = [];
      try { document.body.innerHTML = '<img src=x onerror="window.bad = 1">'; tried.push('html'); } catch { tried.push('refused'); }
      try { const script = document.createElement('script'); script.textContent = 'window.bad = 1'; document.body.append(script); tried.push('run'); } catch { tried.push('refused'); }
      const link = document.createElement('a'); link.href = 'javascript:window.bad=1'; document.body.append(link); link.click(); link.remove();
      await fetch('http://127.0.0.1:9/').then(() => tried.push('asked'), () => tried.push('refused'));
      return [...tried, String(window.bad)];
    })()`);
    assert.deepEqual(met, ['refused', 'refused', 'refused', 'undefined']);
    await page.context().close();
  });

  for (const [title, signal] of [
    ['is stopped', 'SIGTERM'],
    ['is killed', 'SIGKILL'],
  ] as const)
    test(`says so when the Core ${title}, comes back by itself with its session, and says what it missed`, async () => {
      const page = await signedIn();
      const { port } = new URL(origin);
      const live = () => page.evaluate("import('/ui/core/live.ts').then(({ liveState }) => liveState.value)");
      await page.evaluate(
        "import('/ui/core/live.ts').then(({ follow }) => { window.stop = follow('events.stream', { filter: ['plugin.state'] }, { item() {} }); })",
      );
      await eventually(async () => (await live()) === 'on', 'the socket of the page');
      await core.stop(signal);
      const gone = page.locator('p.banner.offline', { hasText: 'Can’t reach the device' });
      await gone.waitFor();
      await start(Number(port));
      await page.getByText('Reconnected after').waitFor();
      await gone.waitFor({ state: 'detached' });
      assert.equal(await page.getByRole('heading', { name: 'Sign in' }).count(), 0);
      const { body } = await core.get('/sessions');
      assert.ok(body.sessions.length > 0);
      await page.context().close();
    });
});
