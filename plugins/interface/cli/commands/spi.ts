import type { SpiHandleInfo } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action } from '../cli.ts';
import { usage } from '../failure.ts';
import { hexLines } from '../hex.ts';
import { bytesArgument } from '../inputs.ts';
import { cell } from '../output.ts';

interface TransferOptions {
  readonly tx: string;
  readonly rx: string;
}

export function addSpi(program: Command): void {
  const spi = program.command('spi').description('SPI handles and transfers');
  spi
    .command('handles', { isDefault: true })
    .description('every SPI handle and its settings')
    .action(
      action(async ({ client, out }) => {
        const answer = await client.get('/spi/handles');
        if (out.json) return out.line(answer.text);
        const rows = (answer.body.handles as readonly SpiHandleInfo[]).map((one) => [
          one.name,
          `${one.speed} Hz`,
          String(one.mode),
          `${one.endpoint} cs ${one.cs}`,
          one.owner,
          String(one.transfers),
          String(one.errors),
          cell(one.description),
        ]);
        await out.table(['HANDLE', 'SPEED', 'MODE', 'BUS', 'OWNER', 'TRANSFERS', 'ERRORS', 'WHAT'], rows, {
          empty: 'no SPI handles are registered',
        });
      }),
    );
  spi
    .command('transfer <handle>')
    .description('clock bytes out and in at once')
    .option('--tx <bytes>', 'hex digits, @file, or base64:...', '')
    .option('--rx <n>', 'bytes to read, from the first clock on', '0')
    .action(
      action<[string], TransferOptions>(async ({ client, out }, [handle], options) => {
        if (!/^\d+$/.test(options.rx)) throw usage(`--rx must be a number of bytes, not "${options.rx}"`);
        const body = { handle, tx: await bytesArgument(options.tx, '--tx'), rxLen: Number(options.rx) };
        const answer = await client.post('/SPI_transfer_txrx', body);
        if (out.json) return out.line(answer.text);
        const received = Buffer.from(String(answer.body.rx), 'base64');
        await out.line(received.length === 0 ? 'done, nothing read' : hexLines(received));
      }),
    );
}
