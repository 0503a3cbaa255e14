/** Costs processes: each case is a whole `devicectl plugin check`, which runs tests at each level. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { checked, INLINE, remarks, SamplePlugins } from './sample-plugins.ts';

let samples: SamplePlugins;
before(async () => {
  samples = await SamplePlugins.create();
});
after(() => samples[Symbol.asyncDispose]());

test('a plugin runs at the three levels, in a thread and a process of its own', async () => {
  const contract = `import { serviceRef } from '@device-core/plugin-api';
export interface Where { where(): Promise<readonly [pid: number, thread: boolean]>; }
export const where = serviceRef<Where>('sample', '1.0.0');
`;
  const code = `import { isMainThread } from 'node:worker_threads';
import { definePlugin } from '@device-core/plugin-api';
import { where } from './where.ts';
export const plugin = definePlugin({
  setup: (host) => host.provide(where, { where: async () => [process.pid, isMainThread] as const }),
});
`;
  const testing = `import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestHost } from '@device-core/plugin-api/testing';
import { plugin } from './index.ts';
import { where } from './where.ts';
test('where', async () => {
  await using host = await createTestHost(plugin, { manifest: join(import.meta.dirname, 'plugin.yaml') });
  const [pid, main] = await host.service(where).where();
  assert.equal([pid === process.pid, main].join(), 'no');
});
`;
  const home = await samples.write(['provides: { sample: 1.0.0 }'], code, {
    'where.ts': contract,
    'where.test.ts': testing,
  });
  const seen: (string | undefined)[] = [];
  for (const expected of ['true,true', 'true,false', 'false,true']) {
    await writeFile(join(home, 'where.test.ts'), testing.replace("'no'", `'${expected}'`));
    const { rows } = await checked(home);
    seen.push(rows.find(({ check, outcome }) => check.startsWith('tests') && outcome === 'PASS')?.check);
    assert.deepEqual(
      rows.filter(({ check, outcome }) => outcome !== 'PASS' && !check.startsWith('tests')),
      [],
    );
  }
  // A level is not tried after one at which the tests fail.
  assert.deepEqual(seen, ['tests inline', undefined, undefined]);
});

test('levels that the manifest refuses, and those below its floor, are left out with its reason', async () => {
  const { rows } = await checked(await samples.write(['isolation: worker', 'refuses: { process: it shares memory }']));
  assert.deepEqual(
    rows.filter(({ outcome }) => outcome === 'SKIP').map(({ check, remark }) => `${check}: ${remark}`),
    [
      'isolation inline: its manifest asks for worker at least',
      'isolation process: it shares memory',
      'minimal grants: judged by inline runs, and there is none',
    ],
  );
});

test('an unused claim is warned of, line by line', async () => {
  const lines = [
    ...[
      'requires:',
      '  operations: ^1.0.0',
      '  device: ^1.0.0',
      'optional: { spi: ^1.0.0 }',
      'taps:',
      '  - health.collect',
    ],
    ...[
      '  - kernel.ready',
      'publishes:',
      '  - plugin.sample.idle',
      '  - system.**',
      'capabilities: [network.outbound]',
    ],
    INLINE,
  ];
  const code = `import { definePlugin } from '@device-core/plugin-api';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
export const plugin = definePlugin({
  requires: { operations, device },
  async setup(host, services) {
    await services.device.info();
    host.tap('health.collect', () => undefined);
    host.bus.publish('system.sample', {});
  },
});
`;
  const { code: exit, rows } = await checked(await samples.write(lines, code));
  assert.equal(exit, 0);
  assert.deepEqual(
    rows.filter(({ check }) => check === 'minimal grants').map(({ outcome, line, remark }) => [outcome, line, remark]),
    [
      ['WARN', 7, 'requires operations, and never called it'],
      ['WARN', 9, 'never waits for spi by host.when()'],
      ['WARN', 12, 'never taps kernel.ready'],
      ['WARN', 14, 'never published within plugin.sample.idle'],
      ['WARN', 15, 'system.** is wider than what it published: system.sample'],
      ['WARN', 16, 'never needed network.outbound'],
    ],
  );
});

test('a network that is used without a claim is warned of, and one that is claimed is not', async () => {
  const code = `import { createServer } from 'node:net';
import { definePlugin } from '@device-core/plugin-api';
export const plugin = definePlugin({
  async setup(host) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    host.scope.defer('server', () => void server.close());
  },
});
`;
  const greedy = await checked(await samples.write([INLINE], code));
  assert.deepEqual(remarks(greedy.rows, 'minimal grants'), ['needed network.listen, which it does not claim']);
  const honest = await checked(await samples.write(['capabilities: [network.listen]', INLINE], code));
  assert.deepEqual(remarks(honest.rows, 'minimal grants'), ['it used all that it claims']);
});

test('services without a fake are stood in for, with a warning; fakes.ts fakes them, and brings the configuration', async () => {
  const lines = [
    'requires: { spi: ^1.0.0 }',
    'config: { type: object, required: [cs], properties: { cs: { type: integer } } }',
  ];
  const code = `import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { spi } from '@device-core/plugin-api/services/spi';
export const plugin = definePlugin({
  requires: { spi },
  async setup(_host: PluginHost<{ readonly cs: number }>, services) {
    await services.spi.handles();
  },
});
`;
  const home = await samples.write(lines, code);
  const bare = await checked(home);
  assert.match(remarks(bare.rows, 'start-stop-start inline').join(), /must have required property 'cs'/);
  await writeFile(join(home, 'fakes.ts'), 'export const config = { cs: 1 };\n');
  const stoodIn = await checked(home);
  assert.equal(stoodIn.code, 0);
  assert.match(
    remarks(stoodIn.rows, 'start-stop-start process').join(),
    /^with stand-ins .* for spi; export `services`/,
  );
  const fakes = `import { spi } from '@device-core/plugin-api/services/spi';
export const config = { cs: 1 };
export const services = () => [[spi, { handles: async () => [] }]] as const;
`;
  await writeFile(join(home, 'fakes.ts'), fakes);
  const faked = await checked(home);
  assert.deepEqual(
    [...new Set(faked.rows.filter(({ outcome }) => outcome !== 'PASS').map(({ remark }) => remark))],
    ['it has no tests'],
  );
});
