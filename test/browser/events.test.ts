/** Events in a real browser: what comes, what is missing, what is true now, and a test in the name of an app. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import type { Browser, Page, WebSocketRoute } from 'playwright-core';
import { eventually } from '../fixtures/eventually.ts';
import { FULL } from '../fixtures/runs.ts';
import { noBrowser, openBrowser } from './browser.ts';
import { FloodedCore } from './flood.ts';
import { barriers, Device, settled, show, sideways } from './harness.ts';

after(leakCheck());

const AGENDA = 'com.example.agenda';
const row = (page: Page, text: string | RegExp) =>
  page.getByRole('list', { name: 'Events' }).getByRole('button', { name: text });

describe('events', { skip: noBrowser }, () => {
  let device: Device;
  const publish = (topic: string, payload: object, more: object = {}) =>
    device.core.ask('/events/publish', { unix: true, body: { topic, payload, ...more } });
  /** Published until the page has it: a stream that is only being opened misses what came before. */
  const seen = (page: Page, topic: string) =>
    eventually(
      async () => {
        await publish(topic, {});
        return (await row(page, topic).count()) > 0;
      },
      `${topic} is seen`,
      { every: 100 },
    );
  before(async () => {
    device = await Device.start('--app', 'docs/examples/agenda');
  });
  after(() => device[Symbol.asyncDispose]());

  test('an event is seen at once, and whole when it is chosen', async () => {
    await using opened = await device.open({ at: 'events?filter=user.**' });
    const { page } = opened;
    await seen(page, 'user.first');
    await publish('user.door', { open: true, by: { name: 'Ada' } }, { priority: 'high' });
    await row(page, /user\.door/).click();
    const card = page.getByRole('region', { name: 'Event', exact: true });
    await card.getByText('the operator').waitFor();
    await card.getByText('high').waitFor();
    await card.getByText('“Ada”').waitFor();
    await publish('user.window', { open: false });
    await row(page, /user\.window/).waitFor();
    await page.getByLabel('Search received events').fill('ada');
    await row(page, /user\.window/).waitFor({ state: 'detached' });
    await row(page, /user\.door/).waitFor();
    await page.getByLabel('Search received events').fill('');
    await page.getByRole('button', { name: 'high', exact: true }).click();
    await row(page, /user\.window/).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'high', exact: true }).click();
    await card.getByRole('button', { name: 'Only this topic' }).click();
    await page.getByRole('list', { name: 'Filters' }).getByText('user.door').waitFor();
    assert.match(page.url(), /filter=user\.door/);
  });

  test('filters of the bus are added and taken away, and a wrong filter is refused at once', async () => {
    await using opened = await device.open({ at: 'events' });
    const { page } = opened;
    const filter = page.getByLabel('Filter', { exact: true });
    await filter.fill('a.**.b');
    await filter.press('Enter');
    await page.getByText('** stands at the end alone').waitFor();
    await filter.fill('user.*');
    await filter.press('Enter');
    await filter.fill('other.**');
    await filter.press('Enter');
    await page.getByRole('button', { name: 'Take the filter other.** away' }).waitFor();
    await seen(page, 'user.seen');
    await publish('unseen.at.all', {});
    await seen(page, 'other.seen');
    assert.equal(await row(page, /unseen/).count(), 0);
    await page.getByRole('button', { name: 'Take the filter user.* away' }).click();
    await seen(page, 'other.again');
  });

  test('a pause keeps the list still, says how many came, and loses nothing', async () => {
    await using opened = await device.open({ at: 'events?filter=still.**' });
    const { page } = opened;
    await seen(page, 'still.one');
    await page.getByRole('button', { name: 'Pause' }).click();
    await publish('still.two', {});
    await publish('still.three', {});
    await page.getByText('Paused. 2 came since.').waitFor();
    assert.equal(await row(page, /still\.t/).count(), 0);
    await page.getByRole('button', { name: 'Continue' }).click();
    await row(page, /still\.three/).waitFor();
    assert.equal(await row(page, /still\.t/).count(), 2);
  });

  test('text of an app stays text: markup, addresses, marks of direction, ten thousand characters', async () => {
    await using opened = await device.open({ at: 'events?filter=user.hostile' });
    const { page } = opened;
    await seen(page, 'user.hostile');
    const nasty = {
      '<script>top.hit=1</script>': '<img src=x onerror="top.hit=1">',
      link: 'javascript:top.hit=1',
      turned: 'a\u202egnp.exe\u2066',
      long: 'x'.repeat(10_000),
      deep: JSON.parse(`${'['.repeat(28)}${']'.repeat(28)}`),
    };
    await publish('user.hostile', nasty);
    await row(page, /user\.hostile.*script/).click();
    const card = page.getByRole('region', { name: 'Event', exact: true });
    await card.getByText('<script>top.hit=1</script>').waitFor();
    await card.getByText('a\\u202egnp.exe\\u2066').waitFor();
    await card.getByRole('button', { name: '9,600 more' }).waitFor();
    assert.equal(await page.evaluate('top.hit'), undefined);
    assert.equal(await page.locator('a[href^="javascript"], main script, main img[src="x"]').count(), 0);
  });

  test('the current state has one row for each value, and follows it', async () => {
    await using opened = await device.open({ at: 'events/now' });
    const { page } = opened;
    const table = page.getByRole('table', { name: 'Current state' });
    await table.getByRole('row', { name: /plugin\.state events state: active/ }).waitFor();
    await publish('app.state', { app: 'com.example.ghost', state: 'running' });
    await table.getByRole('row', { name: /app\.state com\.example\.ghost state: running/ }).waitFor();
    await publish('app.state', { app: 'com.example.ghost', state: 'failed' });
    await table.getByRole('row', { name: /app\.state com\.example\.ghost state: failed/ }).waitFor();
    assert.equal(await table.getByRole('row', { name: /com\.example\.ghost/ }).count(), 1);
  });

  test('the operator publishes in the name of an app, and meets the walls of the app', async () => {
    await using opened = await device.open({ at: 'events/publish' });
    const { page } = opened;
    const topic = `app.${AGENDA}.event.due`;
    await page.getByLabel('Topic').fill(topic);
    await page.getByLabel('Payload').fill('{"title": "Tea"}');
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Published as number').waitFor();
    await page.getByRole('link', { name: 'See it live' }).click();
    await page.getByLabel('Search received events').waitFor();
    await show(page, 'events/publish');
    await page.getByLabel('Topic').fill('app.com.example.other.event.x');
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByRole('alert').getByText('TOPIC_DENIED').waitFor();
    await page.getByLabel('Payload').fill('{"title": ');
    await page.getByText('That is not a JSON object.').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Publish' }).isDisabled());
  });

  test('a viewer sees the events and publishes none', async () => {
    await using opened = await device.open({ at: 'events?filter=viewed.**', role: 'viewer' });
    const { page } = opened;
    await seen(page, 'viewed.one');
    await page.getByRole('link', { name: 'Publish' }).click();
    assert.ok(await page.getByRole('button', { name: 'Publish' }).isDisabled());
  });

  test('a connection that was gone is a row that names the gap', async () => {
    await using opened = await device.open({ at: 'events' });
    const { page } = opened;
    const lines: WebSocketRoute[] = [];
    await page.routeWebSocket(/\/ui\/live$/, (line) => {
      line.connectToServer();
      lines.push(line);
    });
    await page.reload();
    await seen(page, 'user.before');
    await lines[0]?.close();
    await page.getByRole('list', { name: 'Events' }).getByText('The connection was gone').waitFor();
    await seen(page, 'user.after');
  });

  for (const [width, colours] of [
    [1280, 'light'],
    [360, 'dark'],
  ] as const)
    test(`every view of it is without barriers and fits, at ${width} px, ${colours}`, async () => {
      await using opened = await device.open({ at: 'events?filter=plugin.state', width, height: 740, colours });
      const { page } = opened;
      await row(page, /plugin\.state/)
        .first()
        .click();
      assert.deepEqual(await barriers(page), []);
      await page.keyboard.press('Escape');
      for (const at of ['events?filter=none.at.all', 'events/now', 'events/publish']) {
        await show(page, at);
        assert.deepEqual([at, ...(await barriers(page)), await sideways(page)], [at, 0]);
      }
    });

  test('on a narrow screen an event opens over the page, and the keyboard leads there and back', async () => {
    await using opened = await device.open({ at: 'events?filter=narrow.**', width: 360, height: 740 });
    const { page } = opened;
    await seen(page, 'narrow.first');
    await publish('narrow.second', { far: true });
    await row(page, /narrow\.second/).waitFor();
    await row(page, /narrow\.first/)
      .last()
      .focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('narrow.second').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await eventually(
      async () => (await page.evaluate<string>('document.activeElement.textContent')).includes('narrow.second'),
      'the focus is back at the row',
    );
  });
});

describe('events in masses', { skip: noBrowser }, () => {
  let core: FloodedCore;
  let browser: Browser;
  before(async () => {
    core = await FloodedCore.start();
    browser = await openBrowser();
  });
  after(async () => {
    await browser.close();
    await core[Symbol.asyncDispose]();
  });

  test('each of many events is a row or counted as lost, and the list has an end', async () => {
    const page = await browser.newPage({ locale: 'en-GB' });
    await core.open(page, 'events?filter=user.**');
    await settled(page);
    const first = await primed(page, core);
    const before = core.published;
    // In portions that the queue of the stream can hold: what is lost then is lost by the page.
    for (let portion = 0; portion < 44; portion++) {
      await core.publish(250);
      await eventually(
        async () => (await counted(page)) >= core.published - before + first,
        'the page counts what was published',
      );
    }
    assert.equal(await counted(page), core.published - before + first);
    const drawn = await page.getByRole('list', { name: 'Events' }).getByRole('listitem').count();
    assert.ok(drawn < 60, `${drawn} rows are drawn`);
    const kept = Number(await page.getByRole('listitem').last().getAttribute('aria-setsize'));
    assert.ok(kept >= 10_000 && kept < 10_500, `${kept} rows are kept`);
    assert.match((await note(page)) ?? '', /older ones were let go/);
    await page.close();
  });

  test('a page that is not seen takes nothing; what the Core could not keep is a row that counts it', async () => {
    const page = await browser.newPage({ locale: 'en-GB' });
    await core.open(page, 'events?filter=user.**');
    await settled(page);
    const first = await primed(page, core);
    const before = core.published - first;
    // As a tab behind another one: the browser makes no pictures of it.
    await page.evaluate('window.requestAnimationFrame = (fn) => { (window.held ??= []).push(fn); return 1; }');
    await core.publish(1500);
    await eventually(
      async () => (await page.evaluate('window.held?.length ?? 0')) === 1,
      'the page waits for a picture',
    );
    // More than the queue of the stream and the buffers of two sockets hold together.
    for (let times = 0; times < 8; times++) await core.publish(500);
    await page.evaluate('window.requestAnimationFrame = (fn) => setTimeout(() => fn(performance.now()), 8)');
    await page.evaluate('for (const fn of window.held) fn(performance.now())');
    await eventually(
      async () => (await counted(page)) + (await lost(page)) >= core.published - before,
      'each event is counted',
    );
    assert.equal((await counted(page)) + (await lost(page)), core.published - before);
    assert.ok((await lost(page)) > 0);
    // What came after the gap moves it out of sight: only gaps are left where none of the events is wanted.
    await page.getByRole('button', { name: 'high', exact: true }).click();
    await page
      .getByRole('list', { name: 'Events' })
      .getByText(/events were lost: this page was too slow/)
      .first()
      .waitFor();
    await page.close();
  });

  test('with a thousand events a second a page answers its reader, and counts what it cannot take', async () => {
    const page = await browser.newPage({ locale: 'en-GB' });
    await core.open(page, 'events?filter=user.**');
    await settled(page);
    const first = await primed(page, core);
    const before = core.published - first;
    await page.evaluate(
      'window.took = []; new PerformanceObserver((list) => { for (const one of list.getEntries()) if (one.interactionId) took.push([one.interactionId, one.duration]); }).observe({ type: "event", durationThreshold: 16, buffered: false })',
    );
    const flood = new Flood(core);
    const search = page.getByLabel('Search received events');
    const asked = FULL ? 30 : 6;
    for (let n = 0; n < asked; n++) {
      await page.getByRole('button', { name: 'high', exact: true }).click();
      await page.getByRole('button', { name: 'high', exact: true }).click();
      await search.press('5');
      await search.press('Backspace');
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByRole('list', { name: 'Events' }).getByRole('button').last().click();
      await page.getByRole('button', { name: 'Continue' }).click();
    }
    const rate = await flood.stop();
    await eventually(
      async () => (await counted(page)) + (await lost(page)) >= core.published - before,
      'each event is counted',
    );
    assert.equal((await counted(page)) + (await lost(page)), core.published - before);
    const took = (await page.evaluate('took')) as readonly (readonly [number, number])[];
    const longest = new Map<number, number>();
    for (const [id, ms] of took) longest.set(id, Math.max(longest.get(id) ?? 0, ms));
    // Each press and click is one interaction; those under 16 ms are not even told.
    const all = [...Array(Math.max(0, asked * 7 - longest.size)).fill(16), ...longest.values()].sort((a, b) => a - b);
    const p95 = all[Math.ceil(all.length * 0.95) - 1];
    console.log(
      `interaction to next paint with ${Math.round(rate)} events a second: p50 ${all[all.length >> 1]} ms, p95 ${p95} ms, of ${all.length}; lost ${await lost(page)} of ${core.published - before}`,
    );
    await page.close();
  });
});

/** A hundred portions of ten a second. */
class Flood {
  readonly #core: FloodedCore;
  readonly #began = performance.now();
  readonly #from: number;
  readonly #timer: NodeJS.Timeout;
  #last: Promise<void> = Promise.resolve();

  constructor(core: FloodedCore) {
    this.#core = core;
    this.#from = core.published;
    this.#timer = setInterval(() => {
      // What a busy machine delayed comes as well, as far as a queue may take it at once.
      const due = Math.round(performance.now() - this.#began) - (core.published - this.#from);
      this.#last = core.publish(Math.min(100, Math.max(0, due)));
    }, 10);
  }

  /** Events a second, as they were. */
  async stop(): Promise<number> {
    clearInterval(this.#timer);
    await this.#last;
    return ((this.#core.published - this.#from) * 1000) / (performance.now() - this.#began);
  }
}

/** The stream is open and the last event came: how many the page counts now. */
async function primed(page: Page, core: FloodedCore): Promise<number> {
  await eventually(
    async () => {
      await core.publish(1);
      return (await page.getByText(`n: ${core.published} `).count()) > 0;
    },
    'the stream is open',
    { every: 100 },
  );
  return counted(page);
}

const note = (page: Page) => page.locator('.events .card .note').first().textContent();
const numberIn = (text: string | null, what: RegExp) => Number(what.exec(text ?? '')?.[1]?.replaceAll(',', '') ?? 0);
const counted = async (page: Page) => numberIn(await note(page), /^([\d,]+) events?/);
const lost = async (page: Page) => numberIn(await note(page), /([\d,]+) lost/);
