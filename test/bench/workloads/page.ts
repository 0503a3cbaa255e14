/** A page that shows the panel: a real browser where there is one, else a client of the same socket that inflates as the page does. */
import { once } from 'node:events';
import { inflateRawSync } from 'node:zlib';
import { noBrowser, openBrowser } from '../../browser/browser.ts';
import { eventually } from '../../fixtures/eventually.ts';
import type { SpawnedCore } from '../../fixtures/spawned-core.ts';

export interface Viewed {
  /** Milliseconds from the panel to the acknowledgement, of each frame. */
  readonly lags: readonly number[];
  readonly bytes: number;
}

export interface Tab extends AsyncDisposable {
  /** `chromium`, or what stands for it. */
  readonly name: string;
  /** What came since it was asked last. */
  take(): Promise<Viewed>;
}

/** Notes in the page when a frame came, and when it was acknowledged: one is under way at a time. */
const NOTES = `(() => {
  window.seen = { lags: [], bytes: 0 };
  const waiting = [];
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (text) {
    if (typeof text === 'string' && text.startsWith('{"credit"') && waiting.length > 0) window.seen.lags.push(Date.now() - waiting.shift());
    return send.call(this, text);
  };
  const listen = (socket) => socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') return;
    const bytes = new Uint8Array(data, 4);
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(10))));
    window.seen.bytes += data.byteLength;
    waiting.push(head.at);
  });
  window.WebSocket = class extends WebSocket {
    constructor(...given) { super(...given); listen(this); }
  };
})()`;

const codeOf = async (core: SpawnedCore): Promise<string> =>
  (await core.ask('/sessions/codes', { unix: true, body: { role: 'operator' } })).body.code;

export async function openTab(core: SpawnedCore): Promise<Tab> {
  return noBrowser === false ? await browserTab(core) : await plainTab(core);
}

async function browserTab(core: SpawnedCore): Promise<Tab> {
  const browser = await openBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.addInitScript(NOTES);
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${core.port}/ui/#code=${await codeOf(core)}`);
  await page.locator('main#main').waitFor();
  await page.evaluate("location.hash = '#/panel'");
  await page.locator('.device:not(.empty)').waitFor();
  return {
    name: 'chromium',
    take: () =>
      page.evaluate<Viewed>(
        '(() => { const seen = window.seen; window.seen = { lags: [], bytes: 0 }; return seen; })()',
      ),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

async function plainTab(core: SpawnedCore): Promise<Tab> {
  const { body } = await core.ask('/sessions', { body: { code: await codeOf(core), name: 'bench' } });
  const { body: granted } = await core.ask('/sessions/ticket', { token: body.token });
  const socket = new WebSocket(`ws://127.0.0.1:${core.port}/ui/live`, ['device.live.v1', granted.ticket]);
  socket.binaryType = 'arraybuffer';
  await once(socket, 'open');
  let [lags, bytes]: [number[], number] = [[], 0];
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') return;
    const chunk = Buffer.from(data as ArrayBuffer).subarray(4);
    const end = chunk.indexOf('\n');
    const { at } = JSON.parse(chunk.subarray(0, end).toString()) as { at: number };
    inflateRawSync(chunk.subarray(end + 1));
    lags.push(Date.now() - at);
    bytes += chunk.length;
    socket.send(JSON.stringify({ credit: 1, of: 1 }));
  });
  const stream = { stream: 'display.frames', params: { encoding: 'deflate', fps: 15 } };
  socket.send(JSON.stringify({ open: 1, ...stream, credit: 1 }));
  await eventually(() => lags.length > 0, 'a frame', { ms: 30_000 });
  return {
    name: 'a client without a browser',
    async take() {
      const taken = { lags, bytes };
      [lags, bytes] = [[], 0];
      return taken;
    },
    async [Symbol.asyncDispose]() {
      socket.close();
    },
  };
}
