/**
 * Program of the simulated IO bridge: `main.ts --socket PATH --board FILE [--state FOLDER]`. It says `ready` on its output when it takes
 * connections, and ends when its input does: so it never outlives the Core that started it. A Core with a channel to it listens at PATH
 * itself, hands over the connections that it lets in, and has stream 3 for the port. Exit code 2: the board cannot be used.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { maybe } from '@device-core/plugin-api';
import { type Board, BoardError } from './board.ts';
import { Bridge } from './bridge.ts';
import { RealClock } from './clock.ts';
import { EXIT_BAD_BOARD } from './index.ts';
import { readBoard } from './kept-board.ts';
import { SimServer } from './server.ts';
import { Wire } from './wire.ts';

/** The stream to the port, where a Core started it. */
const WIRE = 3;

const { values } = parseArgs({
  options: { socket: { type: 'string' }, board: { type: 'string' }, state: { type: 'string' } },
});
if (!values.socket || !values.board) fail('cannot start: --socket and --board are needed');

const board = load(values.board);
let server: SimServer | undefined;
const bridge = new Bridge(board, {
  clock: new RealClock(),
  bootId: randomBytes(4).readUInt32LE(),
  ...maybe({ stateFolder: values.state }),
  // The first levels are set before the first connection.
  dataReady: (level) => server?.dataReady(level),
});
server = new SimServer(new Wire(bridge, board.faults), () => process.kill(process.pid, 'SIGKILL'), board);

if (process.send) {
  const handed = server;
  process.on('message', (_what, socket) => {
    if (socket instanceof Socket) handed.take(socket);
  });
  server.take(new Socket({ fd: WIRE }));
} else {
  if (existsSync(values.socket)) unlinkSync(values.socket);
  process.umask(0o177);
  await server.listen(values.socket);
}
process.stdout.write('ready\n');

process.stdin.on('end', () => process.exit(0));
process.stdin.on('error', () => process.exit(0));
process.stdin.resume();
process.on('SIGTERM', () => process.exit(0));
// Ctrl-C in a terminal reaches the whole group: the Core ends first, in its order.
process.on('SIGINT', () => undefined);

function load(file: string): Board {
  try {
    return readBoard(readFileSync(file, 'utf8'), file, values.state);
  } catch (error) {
    if (error instanceof BoardError) return fail(error.message);
    return fail(`cannot read board ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function fail(message: string): never {
  // One line: the parser of YAML draws pictures.
  process.stderr.write(`${message.replace(/\s+/g, ' ')}\n`);
  process.exit(EXIT_BAD_BOARD);
}
