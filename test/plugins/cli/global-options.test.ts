/** Options of the program say where the Core is and how it is printed: they are no part of what the Core is asked. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Command } from 'commander';
import { createProgram } from '../../../plugins/interface/cli/program.ts';
import { FakeCore } from './fake-core.ts';
import { devicectl } from './run-devicectl.ts';

const TAG = { uid: '04a1', type: 'NTAG213' };

/** What is asked, and with which body or query. */
const asked: readonly [args: readonly string[], request: string, body: unknown][] = [
  [['nfc', 'read'], 'POST /NFC_read', {}],
  [['nfc', 'read', '--reader', 'tags'], 'POST /NFC_read', { reader: 'tags' }],
  [['nfc', 'write', '--text', 'Hi'], 'POST /NFC_write', { records: [{ type: 'text', text: 'Hi' }] }],
  [
    ['nfc', 'write', '--uri', 'https://example.com', '--reader', 'tags'],
    'POST /NFC_write',
    { reader: 'tags', records: [{ type: 'uri', uri: 'https://example.com' }] },
  ],
  [
    ['spi', 'transfer', 'flash', '--tx', '9f', '--rx', '4'],
    'POST /SPI_transfer_txrx',
    { handle: 'flash', tx: 'nw==', rxLen: 4 },
  ],
  [['i2c', 'transfer', 'memory', '--rx', '1'], 'POST /I2C_transfer_txrx', { handle: 'memory', tx: '', rxLen: 1 }],
  [['can', 'send', 'vehicle', '0x7df'], 'POST /CAN_send', { handle: 'vehicle', id: 2015, extended: false, data: '' }],
  [['uart', 'read', 'loop'], 'POST /UART_read', { handle: 'loop', timeoutMs: 0 }],
  [['voice', 'say', 'Hello.'], 'POST /voice/say', { text: 'Hello.' }],
  [['voice', 'ask', 'stop'], 'POST /voice/ask', { text: 'stop' }],
  [['logs', '--level', 'warn'], 'GET /logs?level=warn&limit=50', undefined],
];

describe('the options of the program', () => {
  let core: FakeCore;
  let everything: readonly string[];
  before(async () => {
    core = await FakeCore.start({
      'POST /NFC_read': { ok: true, tag: TAG, records: [] },
      'POST /NFC_write': { ok: true, tag: TAG },
    });
    const socket = ['--socket', join(core.root, 'core.sock')];
    const token = ['--token-file', join(core.root, 'operator.token')];
    everything = ['--json', '--root', core.root, '--run', core.root, ...socket, ...token];
  });
  after(() => core[Symbol.asyncDispose]());

  for (const [args, request, body] of asked)
    test(`are not sent with devicectl ${args.join(' ')}, wherever they stand`, async () => {
      for (const line of [
        [...everything, ...args],
        [...args, ...everything],
      ]) {
        core.seen.length = 0;
        await devicectl(line);
        const sent = core.seen.map((one) => [`${one.method} ${one.url}`, one.body]);
        assert.deepEqual(sent.at(-1), [request, body]);
        assert.ok(core.seen.every(({ url }) => !/json|root|run=|socket|token/i.test(url)));
      }
    });

  test('have names that no command takes for something else', () => {
    const program = createProgram();
    const taken = new Set(program.options.map((option) => option.attributeName()));
    const all = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(all)];
    for (const command of program.commands.flatMap(all))
      for (const option of command.options)
        assert.ok(!taken.has(option.attributeName()), `${command.name()} has an option ${option.flags}, too`);
  });
});
