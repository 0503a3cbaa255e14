/** The page of the voice as its reader uses it: a real sentence into the microphone of the browser, a written one, a file, the ledger. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { encodeWav } from '@device-core/plugin-api/audio';
import { eventually } from '../fixtures/eventually.ts';
import { join, say, silence } from '../fixtures/speech.ts';
import { noBrowser } from './browser.ts';
import { Device } from './harness.ts';

const HOSTILE = '<img src=x onerror="window.hit=1">';

describe('the page of the voice', { skip: noBrowser }, () => {
  let folder: string;
  let device: Device;
  let sentence: Buffer;

  before(async () => {
    folder = await mkdtemp(joinPath(tmpdir(), 'talk-'));
    const samples = join(silence(700), await say('what time is it', 'rms'), silence(6_000));
    sentence = Buffer.from(
      encodeWav({ samples: join(silence(400), await say('turn it up'), silence(400)), rate: 16_000 }),
    );
    const file = joinPath(folder, 'said.wav');
    await writeFile(file, encodeWav({ samples, rate: 16_000 }));
    // A machine that does other work beside needs longer for a sentence than a device may.
    const slow = ['--set', 'voice.router.localMs=30000'];
    device = await Device.startWith([`--use-file-for-fake-audio-capture=${file}%noloop`], ...slow);
    // Engines come one after the other; what is said before is lost, and the recording comes once.
    const there = async () => {
      const { body } = await device.core.ask('/speech/engines', { unix: true });
      const kinds = new Set((body.engines as readonly { kind: string }[]).map(({ kind }) => kind));
      const { reason } = (await device.core.ask('/voice', { unix: true })).body;
      return kinds.size === 4 && reason === undefined;
    };
    await eventually(there, 'engines that hear and speak');
  });
  after(async () => {
    await device?.[Symbol.asyncDispose]();
    if (folder) await rm(folder, { recursive: true });
  });

  test('a person who holds the button is heard, and reads the words, the answer and the timing', async () => {
    await using opened = await device.open({ at: 'voice' });
    const { page } = opened;
    const button = page.getByRole('button', { name: 'Hold to talk' });
    const turn = page.getByRole('region', { name: 'Turn', exact: true });
    const said = turn.locator('.bubble.person', { hasText: 'what time is it' });
    // Each press hears the recording from its beginning. A browser that is short of time loses sound of its own: it is said again, as people do.
    for (let tries = 0; tries < 4 && (await said.count()) === 0; tries++) {
      await button.hover();
      await page.mouse.down();
      await page.getByText('Your microphone is open').waitFor();
      // Who talks sees the words come; who holds too long is listened to no longer.
      const heard = page.locator('.partial', { hasText: 'what time is it' });
      await heard
        .or(page.getByText('Hold to talk, release when done.'))
        .or(page.getByText('Thinking'))
        .first()
        .waitFor();
      await page.mouse.up();
      await page.getByText('Hold to talk, release when done.').waitFor();
      const done = async () => (await device.core.ask('/voice', { unix: true })).body.state === 'idle';
      await eventually(done, 'the end of the turn');
      await said.or(turn.locator('.bubble.person em')).or(turn.getByText('No conversation yet')).first().waitFor();
    }
    await turn.getByText('It is').waitFor();
    await turn.getByText('device.time').waitFor();
    const parts = turn.getByRole('table', { name: 'Timing of this turn' });
    for (const part of ['End of speech', 'Speech to text', 'Meaning', 'First sound', 'Time to first sound'])
      await parts.getByRole('rowheader', { name: part, exact: true }).waitFor();
    assert.equal(await page.getByText('Your microphone is open').count(), 0);
  });

  test('a sentence is written by keys alone, and compared with another turn', async () => {
    await using opened = await device.open({ at: 'voice' });
    const { page } = opened;
    await page.getByRole('textbox', { name: 'Or write' }).fill('what is the volume');
    await page.keyboard.press('Enter');
    const turn = page.getByRole('region', { name: 'Turn', exact: true });
    await turn.getByText('what is the volume').waitFor();
    await turn.getByRole('combobox', { name: 'Compare with' }).selectOption({ index: 1 });
    await turn.getByRole('columnheader', { name: 'The other' }).waitFor();
  });

  test('a recording is heard as it was said', async () => {
    await using opened = await device.open({ at: 'voice' });
    const { page } = opened;
    await page.locator('input[type=file]').setInputFiles({ name: 'a.wav', mimeType: 'audio/wav', buffer: sentence });
    await page.getByRole('region', { name: 'Turn', exact: true }).getByText('turn it up').waitFor();
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'b.wav', mimeType: 'audio/wav', buffer: Buffer.from('no sound') });
    await page.getByText('The browser finds no sound in this file.').waitFor();
  });

  test('sound that comes faster than the device listens is lost, and the page says how much', async () => {
    await using opened = await device.open({ at: 'voice' });
    const { page } = opened;
    // Forty seconds of sound in one or two.
    await page.evaluate('{ const real = setInterval; window.setInterval = (run) => real(run, 1); }');
    const buffer = Buffer.from(encodeWav({ samples: silence(40_000), rate: 16_000 }));
    await page.locator('input[type=file]').setInputFiles({ name: 'long.wav', mimeType: 'audio/wav', buffer });
    await page.getByText(/^[0-9]+ pieces of your sound came too fast for the device and were lost$/).waitFor();
    await page.getByText('Hold to talk, release when done.').waitFor();
    const { body } = await device.core.ask('/health', { unix: true });
    assert.match(body.components.web.message, /lost by pages that sent faster than was read: [0-9]+ chunks/);
  });

  test('the answer is heard in the browser where its reader wants it', async () => {
    await using opened = await device.open({ at: 'voice' });
    const { page } = opened;
    await page.getByRole('switch', { name: 'Answer in this browser, too' }).click();
    const spoken = page.waitForResponse((response) => response.url().endsWith('/speech/synthesize'));
    await page.getByRole('textbox', { name: 'Or write' }).fill('how long is left on the timers');
    await page.keyboard.press('Enter');
    assert.equal((await spoken).status(), 200);
    await page.getByRole('region', { name: 'Turn', exact: true }).getByText('how long is left on the timers').waitFor();
    assert.equal(await page.locator('main [role=alert]').count(), 0);
  });

  test('a page that is left while the button is held has said nothing', async () => {
    await using opened = await device.open({ at: 'voice' });
    const { page } = opened;
    const button = page.getByRole('button', { name: 'Hold to talk' });
    await button.focus();
    await page.keyboard.down('Space');
    await page.getByText('Listening…').waitFor();
    await page.evaluate("location.hash = '#/overview'");
    const over = async () => {
      const [turn] = (await device.core.ask('/voice/turns', { unix: true })).body.turns;
      return turn.source === 'button' && turn.outcome === 'cancelled';
    };
    await eventually(over, 'the end of the turn');
  });

  test('a spoken sentence stays text, markup included', async () => {
    await using opened = await device.open({ at: 'voice' });
    const { page } = opened;
    await page.getByRole('textbox', { name: 'Or write' }).fill(HOSTILE);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Turn', exact: true }).getByText(HOSTILE).waitFor();
    assert.equal(await page.evaluate('window.hit'), undefined);
    assert.equal(await page.locator('main img').count(), 0);
  });

  test('a muted device does not hear, and the page says so', async () => {
    await using opened = await device.open({ at: 'voice' });
    const { page } = opened;
    const mute = page.getByRole('switch', { name: 'Mute the microphone' });
    await mute.click();
    await page.getByRole('status').filter({ hasText: 'Muted' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Hold to talk' }).isDisabled(), true);
    await mute.click();
    await page.getByText('Hold to talk, release when done.').waitFor();
  });

  test('departures, sentences and listeners are read there', async () => {
    await using opened = await device.open({ at: 'voice/departures' });
    const { page } = opened;
    await page.getByRole('heading', { name: 'Nothing has left this device' }).waitFor();
    await page.getByRole('link', { name: 'Sentences' }).click();
    await page.getByRole('textbox', { name: 'Sentence' }).fill('set a timer for ten minutes');
    await page.keyboard.press('Enter');
    await page.getByRole('definition').filter({ hasText: 'Set a timer' }).waitFor();
    await page.getByRole('link', { name: 'Engines' }).click();
    await page.getByRole('region', { name: 'Text to speech' }).getByText('Flite', { exact: true }).waitFor();
  });

  test('a viewer sees it all and says nothing', async () => {
    await using opened = await device.open({ at: 'voice', role: 'viewer' });
    const { page } = opened;
    assert.equal(await page.getByRole('button', { name: 'Hold to talk' }).isDisabled(), true);
    assert.equal(await page.getByRole('switch', { name: 'Mute the microphone' }).isDisabled(), true);
    await page.getByRole('region', { name: 'Latest turns' }).getByText('what is the volume').waitFor();
  });
});
