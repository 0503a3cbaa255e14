/** `devicectl i2c|gpio|uart|can|bridge`: the buses of the IO bridge by hand. */
import type { Command } from 'commander';
import { action } from '../cli.ts';
import { usage } from '../failure.ts';
import { hexLines } from '../hex.ts';
import { bytesArgument } from '../inputs.ts';
import { cell } from '../output.ts';

type Row = Readonly<Record<string, unknown>>;

/** `<bus> handles`, with the columns that matter for that bus. */
function addHandles(
  command: Command,
  bus: string,
  columns: readonly (readonly [title: string, member: string])[],
): void {
  command
    .command('handles', { isDefault: true })
    .description(`every ${bus.toUpperCase()} handle and its settings`)
    .action(
      action(async ({ client, out }) => {
        const answer = await client.get(`/${bus}/handles`);
        if (out.json) return out.line(answer.text);
        const all = [
          ['HANDLE', 'name'],
          ['BUS', 'endpoint'],
          ...columns,
          ['OWNER', 'owner'],
          ['WHAT', 'description'],
        ] as const;
        const rows = (answer.body.handles as readonly Row[]).map((one) =>
          all.map(([, member]) => cell(one[member] as string | undefined)),
        );
        await out.table(
          all.map(([title]) => title),
          rows,
          { empty: `no ${bus.toUpperCase()} handles are registered` },
        );
      }),
    );
}

function whole(text: string, option: string): number {
  if (!/^(\d+|0x[0-9a-f]+)$/i.test(text)) throw usage(`${option} must be a number, not "${text}"`);
  return Number(text);
}

export function addBuses(program: Command): void {
  addI2c(program.command('i2c').description('I2C handles and transfers'));
  addGpio(program.command('gpio').description('GPIO lines'));
  addUart(program.command('uart').description('serial lines'));
  addCan(program.command('can').description('CAN buses'));
  addBridge(program.command('bridge').description('the IO bridge: its link, its counters, its restart'));
}

function addI2c(i2c: Command): void {
  addHandles(i2c, 'i2c', [
    ['ADDRESS', 'address'],
    ['TRANSFERS', 'transfers'],
    ['ERRORS', 'errors'],
  ]);
  i2c
    .command('transfer <handle>')
    .description('write bytes, read bytes, or both with a repeated start between')
    .option('--tx <bytes>', 'hex digits, @file, or base64:...', '')
    .option('--rx <n>', 'bytes to read', '0')
    .action(
      action<[string], { readonly tx: string; readonly rx: string }>(async ({ client, out }, [handle], { tx, rx }) => {
        const body = { handle, tx: await bytesArgument(tx, '--tx'), rxLen: whole(rx, '--rx') };
        const answer = await client.post('/I2C_transfer_txrx', body);
        if (out.json) return out.line(answer.text);
        const received = Buffer.from(String(answer.body.rx), 'base64');
        await out.line(received.length === 0 ? 'done, nothing read' : hexLines(received));
      }),
    );
  i2c
    .command('recover <handle>')
    .description('free a bus that a component holds down')
    .action(
      action<[string]>(async ({ client, out }, [handle]) => {
        const answer = await client.post('/I2C_recover', { handle });
        await out.line(out.json ? answer.text : 'the bus is free');
      }),
    );
}

function addGpio(gpio: Command): void {
  addHandles(gpio, 'gpio', [
    ['LINE', 'line'],
    ['DIRECTION', 'direction'],
    ['EDGES', 'edges'],
    ['LOST', 'lostEdges'],
  ]);
  gpio
    .command('read <handle>')
    .description('the level of a line')
    .action(
      action<[string]>(async ({ client, out }, [handle]) => {
        const answer = await client.post('/GPIO_read', { handle });
        await out.line(out.json ? answer.text : String(answer.body.value));
      }),
    );
  gpio
    .command('write <handle> <level>')
    .description('set the level of an output: 0 or 1')
    .action(
      action<[string, string]>(async ({ client, out }, [handle, level]) => {
        if (level !== '0' && level !== '1') throw usage(`the level must be 0 or 1, not "${level}"`);
        const answer = await client.post('/GPIO_write', { handle, value: Number(level) });
        await out.line(out.json ? answer.text : `${handle} is ${level}`);
      }),
    );
}

function addUart(uart: Command): void {
  addHandles(uart, 'uart', [
    ['BAUD', 'baud'],
    ['WRITTEN', 'written'],
    ['RECEIVED', 'received'],
    ['LOST', 'lost'],
  ]);
  uart
    .command('write <handle> <text>')
    .description('write text to a serial line; --hex for bytes')
    .option('--hex', 'the text is hex digits, @file, or base64:...')
    .action(
      action<[string, string], { readonly hex?: boolean }>(async ({ client, out }, [handle, text], { hex }) => {
        const tx = hex ? await bytesArgument(text, 'the bytes') : Buffer.from(text, 'utf8').toString('base64');
        const answer = await client.post('/UART_write', { handle, tx });
        await out.line(out.json ? answer.text : `${answer.body.written} bytes written`);
      }),
    );
  uart
    .command('read <handle>')
    .description('what came in on a serial line')
    .option('--wait <ms>', 'how long to wait for the first byte', '0')
    .action(
      action<[string], { readonly wait: string }>(async ({ client, out }, [handle], { wait }) => {
        const answer = await client.post('/UART_read', { handle, timeoutMs: whole(wait, '--wait') });
        if (out.json) return out.line(answer.text);
        const received = Buffer.from(String(answer.body.rx), 'base64');
        await out.line(received.length === 0 ? 'nothing came' : hexLines(received));
        if (Number(answer.body.lost) > 0) await out.line(`${answer.body.lost} were lost`);
      }),
    );
}

function addCan(can: Command): void {
  addHandles(can, 'can', [
    ['BIT/S', 'nominal'],
    ['STATE', 'state'],
    ['SENT', 'sent'],
    ['RECEIVED', 'received'],
    ['LOST', 'lost'],
  ]);
  can
    .command('send <handle> <id>')
    .description('send a frame; the id in hex with 0x')
    .option('--data <bytes>', 'hex digits, @file, or base64:...', '')
    .option('--extended', 'the id has 29 bits')
    .action(
      action<[string, string], { readonly data: string; readonly extended?: boolean }>(
        async ({ client, out }, [handle, id], { data, extended = false }) => {
          const body = { handle, id: whole(id, 'the id'), extended, data: await bytesArgument(data, '--data') };
          const answer = await client.post('/CAN_send', body);
          await out.line(out.json ? answer.text : 'sent, and acknowledged by another node');
        },
      ),
    );
}

function addBridge(bridge: Command): void {
  bridge
    .command('status', { isDefault: true })
    .description('the link and every endpoint, with the counters of both ends')
    .action(
      action(async ({ client, out }) => {
        const answer = await client.get('/bridge');
        if (out.json) return out.line(answer.text);
        const { link, endpoints } = answer.body as unknown as { link: Row; endpoints: readonly Row[] };
        const told = [
          'link',
          'reason',
          'firmware',
          'clockKhz',
          'rttUs',
          'transactionsPerSecond',
          'badPercent',
          'retransmitPercent',
          'resets',
        ];
        for (const name of told)
          if (link[name] !== undefined) await out.line(`${name.padEnd(22)}${String(link[name])}`);
        const own = (link.endpoints ?? {}) as Readonly<Record<string, Row>>;
        const rows = endpoints.map((one) => {
          const counters = (one.counters ?? {}) as Row;
          const here = own[String(one.name)] ?? {};
          const figures = [
            counters.requests,
            counters.errors,
            counters.timeouts,
            counters.bytesIn,
            counters.bytesOut,
            counters.events,
            counters.eventsLost,
            counters.ringPeak,
            here.inFlight,
          ];
          return [
            String(one.name),
            String(one.className),
            ...figures.map((figure) => (figure === undefined ? '-' : String(figure))),
          ];
        });
        if (rows.length === 0) return;
        await out.line('');
        await out.table(
          ['ENDPOINT', 'CLASS', 'REQUESTS', 'ERRORS', 'TIMEOUTS', 'IN', 'OUT', 'EVENTS', 'LOST', 'RING', 'IN FLIGHT'],
          rows,
        );
      }),
    );
  bridge
    .command('reset <endpoint>')
    .description('abort what an endpoint does and give it its default settings')
    .action(
      action<[string]>(async ({ client, out }, [endpoint]) => {
        const answer = await client.post(`/bridge/endpoints/${encodeURIComponent(endpoint)}/reset`, {});
        await out.line(out.json ? answer.text : `${endpoint} was reset`);
      }),
    );
  bridge
    .command('reboot')
    .description('restart the bridge; its link comes back by itself')
    .action(
      action(async ({ client, out }) => {
        const answer = await client.post('/bridge/reboot', {});
        await out.line(out.json ? answer.text : 'the bridge restarts');
      }),
    );
}
