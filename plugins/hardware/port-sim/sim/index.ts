/**
 * Entry to the simulator for the port: path of the program, its exit code, and the messages of its socket. The program itself
 * is `main.ts`; it runs in its process and imports nothing from outside of this folder but packages and Node.
 */
import { fileURLToPath } from 'node:url';

export { KIND, type Message, MessageReader, writeMessage } from './messages.ts';

export const PROGRAM = fileURLToPath(new URL('./main.ts', import.meta.url));
/** Exit code of the program: the board cannot be used. */
export const EXIT_BAD_BOARD = 2;

/** The file of a board: one of `boards/` by its name, or a path that ends in `.yaml`. */
export function boardFile(board: string): string {
  return board.endsWith('.yaml') ? board : fileURLToPath(new URL(`./boards/${board}.yaml`, import.meta.url));
}
