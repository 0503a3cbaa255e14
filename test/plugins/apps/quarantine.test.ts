/** A quarantine outlasts the Core, a reboot and an update end it; and a crash says what was refused before it. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CrashPolicy } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { CONNECT, eventually, manifestOf, putApp, startBench } from './fixture.ts';

after(leakCheck());

const ID = 'com.example.demo';
const BURNS = `console.error('the oven is on fire'); process.exit(3);`;

/** One life of the Core on a root; the app is put there before it begins. */
async function life(root: string, version: string, script: string) {
  return startBench({ root, prepare: (installed) => putApp(installed, manifestOf(ID, { version }), script) });
}

describe('a quarantine', () => {
  const inRoot = (test: (root: string, file: string) => Promise<void>) => async () => {
    const root = mkdtempSync(join(tmpdir(), 'quarantine-'));
    try {
      {
        await using bench = await life(root, '1.0.0', BURNS);
        await bench.apps.start(ID);
        await bench.reach(ID, 'quarantined');
      }
      await test(root, join(root, 'run/app-crashes/demo.json'));
    } finally {
      rmSync(root, { recursive: true });
    }
  };

  it(
    'is one for the next Core, too, which starts nothing and says why, until an operator starts it',
    inRoot(async (root, file) => {
      await using bench = await life(root, '1.0.0', CONNECT);
      await bench.host.hook('kernel.ready').promise();
      const { state, reason } = await bench.status(ID);
      assert.equal(state, 'quarantined');
      assert.match(reason ?? '', /^3 crashes in a short time; the last one: it ended with code 3 before it was ready/);
      await eventually(
        () => bench.host.published.some(({ payload }) => (payload as { state?: string }).state === 'quarantined'),
        'the event',
      );
      assert.equal((await bench.apps.start(ID)).state, 'running');
      assert.throws(() => readFileSync(file), { code: 'ENOENT' });
    }),
  );

  it(
    'is over after an update',
    inRoot(async (root) => {
      await using bench = await life(root, '1.0.1', CONNECT);
      await bench.host.hook('kernel.ready').promise();
      await bench.reach(ID, 'running');
    }),
  );

  const CHANGED: readonly (readonly [what: string, change: (text: string) => string])[] = [
    ['is over after a reboot', (text) => JSON.stringify({ ...JSON.parse(text), boot: 'another' })],
    ['is not known from half of a file', (text) => text.slice(0, 40)],
    ['is not known from a file of somebody else', () => '{"agesMs": ["x"], "row": 1}'],
  ];
  for (const [what, change] of CHANGED)
    it(
      what,
      inRoot(async (root, file) => {
        writeFileSync(file, change(readFileSync(file, 'utf8')));
        await using bench = await life(root, '1.0.0', CONNECT);
        await bench.host.hook('kernel.ready').promise();
        await bench.reach(ID, 'running');
      }),
    );

  it('leaves nothing where no app crashed', async () => {
    await using bench = await startBench({ prepare: (installed) => putApp(installed, manifestOf(ID)) });
    await bench.apps.start(ID);
    assert.ok(!readdirSync(bench.paths.run).includes('app-crashes'));
  });
});

describe('a crash policy', () => {
  const LIMITS = { backoffMs: [1, 2, 4], limit: 4, windowMs: 100 };
  it('goes on after a restart as if there had been none, at any times', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(60), { minLength: 1, maxLength: 12 }), fc.nat(11), (pauses, restart) => {
        const whole = new CrashPolicy(LIMITS);
        let parts = new CrashPolicy(LIMITS);
        let [now, origin] = [0, 0];
        for (const [index, pause] of pauses.entries()) {
          now += pause;
          if (index === restart) {
            // The new Core's clock begins at nought.
            const kept = parts.state(now);
            parts = new CrashPolicy(LIMITS);
            origin = now;
            parts.resume(kept, 0);
          }
          assert.equal(parts.failed(now - origin, 0), whole.failed(now, 0));
        }
      }),
    );
  });
});

it('a crash that follows a refusal says what was refused, and with which line it would not be', async () => {
  const script = `${CONNECT} setTimeout(() => process.exit(1), 300);`;
  await using bench = await startBench({
    config: { crash: { backoffMs: [60_000] } },
    prepare: (installed) => putApp(installed, manifestOf(ID), script),
  });
  await bench.apps.start(ID);
  assert.throws(() => bench.host.grants.require({ kind: 'app', id: ID }, 'display.notify'));
  const { reason, lastEnd } = await bench.reach(ID, 'backoff');
  assert.match(reason ?? '', /^it ended with code 1; .*it was refused display\.notify \(.+\)$/);
  assert.equal(lastEnd?.reason, reason);
  const published = JSON.stringify(bench.host.published);
  assert.ok(!published.includes('it was refused'), 'others are not told');
});
