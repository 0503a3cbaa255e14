/** Telemetry and traces on the page. What the device says is given here: what it sends is tested where it is made. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { noBrowser } from '../browser.ts';
import { barriers, type Device, picture, show, sideways } from '../harness.ts';
import { giveBack, lend } from '../lent.ts';

const LEVELS = [
  { level: 'off', text: 'Nothing is sent.' },
  { level: 'health', text: 'How the device is: versions, uptime, errors by their code.' },
  { level: 'usage', text: 'Also how often its parts are used. No words, no names.' },
];
const BODY = JSON.stringify({ resourceMetrics: [{ scope: { name: 'device-core' }, note: '<b>text</b>' }] });
const ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACE = { id: ID, at: 1_795_000_000_000, ms: 2_140.5, why: 'slow', name: 'voice.turn' };
const SPANS = [
  { id: '1', name: 'voice.turn', tree: 'voice.turn', start: 0, ms: 2_140.5 },
  {
    id: '2',
    name: 'speech.recognize',
    tree: '└─ speech.recognize',
    start: 12,
    ms: 1_900,
    attributes: { engine: 'sherpa' },
  },
  { id: '3', name: 'agenda.next', tree: '   └─ agenda.next', start: 1_950, ms: 20, error: 'FUNCTION_FAILED' },
];

const say = (body: object) => (route: Route) => route.fulfill({ json: { ok: true, ...body } });

/** A device that has the plugins, whichever SKU runs. */
async function offer(page: Page, paths: readonly string[]): Promise<void> {
  await page.route('**/operations', async (route) => {
    const answer = await route.fetch();
    const said = (await answer.json()) as { readonly operations: readonly object[] };
    const more = paths.map((path) => ({ name: `test.${path.slice(1)}`, summary: path, path, method: 'GET' }));
    await route.fulfill({ json: { ...said, operations: [...said.operations, ...more] } });
  });
}

describe('telemetry, on the page', { skip: noBrowser }, () => {
  let device: Device;
  before(async () => {
    device = await lend();
  });
  after(() => giveBack(device));

  async function open(role: 'operator' | 'viewer') {
    const opened = await device.open({ role });
    const { page } = opened;
    let level = 'off';
    const asked: unknown[] = [];
    await offer(page, ['/telemetry', '/traces']);
    await page.route('**/telemetry', (route) =>
      say({ level, levels: LEVELS, queues: [], at: 1_795_000_000_000, by: 'operator', to: 'collector.example:443' })(
        route,
      ),
    );
    await page.route('**/telemetry/next?*', (route) =>
      route.request().url().endsWith('=off') ? say({ note: 'nothing is sent' })(route) : say({ metrics: BODY })(route),
    );
    await page.route('**/telemetry/consent', (route) => {
      const body = route.request().postDataJSON() as { readonly level: string };
      asked.push(body);
      level = body.level;
      return say(body)(route);
    });
    await page.route(
      '**/outbox',
      say({ queues: [{ id: 'otlp', to: 'c:443', waiting: 3, bytes: 900, sent: 7, lost: 1 }] }),
    );
    await page.route('**/ledger?*', (route) =>
      say({
        departures: [
          { id: 'a', at: 1_795_000_000_000, part: 'p', for: 'telemetry', to: 'c:443', what: 'metrics', bytes: 64 },
        ],
      })(route),
    );
    await page.reload();
    await show(page, 'telemetry');
    return { ...opened, asked };
  }

  test('shows what each level sends, asks with the text of the level, and tells what waits and what left', async () => {
    const { page, asked, ...opened } = await open('operator');
    await using _opened = opened;
    const consent = page.getByRole('region', { name: 'Consent' });
    await consent.getByText('Nothing is sent.').waitFor();
    await page.getByRole('group', { name: 'Level' }).getByRole('button', { name: 'health' }).click();
    const body = page.getByLabel('Measurements');
    await body.waitFor();
    assert.equal(await body.textContent(), BODY);
    await picture(page, 'telemetry');
    await consent.getByRole('button', { name: 'Choose health' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('errors by their code').waitFor();
    await dialog.getByRole('button', { name: 'I agree' }).click();
    await consent.getByRole('status').getByText('health').waitFor();
    await consent.getByRole('button', { name: 'Choose off' }).click();
    await consent.getByRole('status').getByText('off').waitFor();
    assert.deepEqual(asked, [{ level: 'health' }, { level: 'off' }]);
    await page.getByRole('region', { name: 'Waiting to leave' }).getByText('otlp').waitFor();
    await page.getByRole('region', { name: 'Sent data' }).getByText('telemetry').waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await sideways(page), 0);
  });

  test('cannot be changed by a viewer', async () => {
    const { page, asked, ...opened } = await open('viewer');
    await using _opened = opened;
    assert.equal(await page.getByRole('button', { name: 'Choose health' }).isDisabled(), true);
    assert.deepEqual(asked, []);
  });

  test('beside it, traces are listed by why they are kept, and one is a tree of spans', async () => {
    await using opened = await device.open();
    const { page } = opened;
    const queries: string[] = [];
    await offer(page, ['/telemetry', '/traces']);
    await page.route('**/traces?*', (route) => {
      queries.push(new URL(route.request().url()).search);
      return say({ traces: [{ ...TRACE, spans: 3 }], dropped: { traces: 4, spans: 0, waiting: 0, invalid: 0 } })(route);
    });
    await page.route(`**/traces/${ID}`, say({ ...TRACE, error: 'FUNCTION_FAILED', spans: SPANS, left: 2 }));
    await page.reload();
    await page.getByRole('link', { name: 'Traces' }).click();
    await page.getByText('4 traces made room for newer ones.').waitFor();
    await page.getByRole('group', { name: 'Reason' }).getByRole('button', { name: 'slow' }).click();
    await page.getByRole('link', { name: 'voice.turn' }).click();
    await page.getByText('└─ agenda.next').waitFor();
    await page.getByText('engine: sherpa').waitFor();
    await page.getByText('2 more spans were beyond the limit.').waitFor();
    await picture(page, 'traces');
    assert.deepEqual(await barriers(page), []);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await sideways(page), 0);
    assert.ok(queries.some((query) => query.includes('why=slow')));
  });
});
