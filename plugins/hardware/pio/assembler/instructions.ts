/** Instructions as words of 16 bits, without delay and side set. Encoding: RP2040 data sheet, section 3.4. */
import type { Reader } from './reader.ts';

const CONDITIONS = ['', '!x', 'x--', '!y', 'y--', 'x!=y', 'pin', '!osre'] as const;
const WAITED = { gpio: 0, pin: 1, irq: 2 };
const IN = { pins: 0, x: 1, y: 2, null: 3, isr: 6, osr: 7 };
const OUT = { pins: 0, x: 1, y: 2, null: 3, pindirs: 4, pc: 5, isr: 6, exec: 7 };
const MOVE_TO = { pins: 0, x: 1, y: 2, exec: 4, pc: 5, isr: 6, osr: 7 };
const MOVE_FROM = { pins: 0, x: 1, y: 2, null: 3, status: 5, isr: 6, osr: 7 };
const SET = { pins: 0, x: 1, y: 2, pindirs: 4 };
const MOVES = { '!': 1, '~': 1, '::': 2 };
/** The number of the machine is added to that of the flag. */
const RELATIVE = 0x10;
const NOP = 0xa042;

const word = (code: number, argument: number, low: number): number => (code << 13) | (argument << 5) | low;

type Encoder = (line: Reader) => number;

export const INSTRUCTIONS: Readonly<Record<string, Encoder>> = {
  nop: () => NOP,
  jmp: (line) => {
    const condition = conditionOf(line);
    line.takes(',');
    return word(0, condition, line.number('target', 0, 31));
  },
  wait: (line) => {
    const polarity = Object.hasOwn(WAITED, line.next) ? 1 : line.number('polarity', 0, 1);
    const source = line.choice(WAITED, 'source of a wait');
    line.takes(',');
    const low = source === WAITED.irq ? flagOf(line) : line.number('index', 0, 31);
    return word(1, (polarity << 2) | source, low);
  },
  in: (line) => word(2, line.choice(IN, 'source of in'), countOf(line)),
  out: (line) => word(3, line.choice(OUT, 'destination of out'), countOf(line)),
  push: (line) => word(4, (line.takes('iffull') ? 2 : 0) | blockOf(line), 0),
  pull: (line) => word(4, 4 | (line.takes('ifempty') ? 2 : 0) | blockOf(line), 0),
  mov: (line) => {
    const to = line.choice(MOVE_TO, 'destination of mov');
    line.needs(',');
    const sign = line.takes(...Object.keys(MOVES)) as keyof typeof MOVES | undefined;
    const how = sign === undefined ? 0 : MOVES[sign];
    return word(5, to, (how << 3) | line.choice(MOVE_FROM, 'source of mov'));
  },
  irq: (line) => {
    const how = line.takes('set', 'nowait', 'wait', 'clear');
    return word(6, how === 'clear' ? 2 : how === 'wait' ? 1 : 0, flagOf(line));
  },
  set: (line) => {
    const to = line.choice(SET, 'destination of set');
    line.needs(',');
    return word(7, to, line.number('value', 0, 31));
  },
};

/** Condition of a jump, 0 where none is given. `x`, `y` and `pin` begin one, and so are no names of a target. */
function conditionOf(line: Reader): number {
  const not = line.takes('!', '~');
  if (not) return CONDITIONS.indexOf(`!${nameIn(line, 'x', 'y', 'osre')}` as '!x');
  if (line.takes('pin')) return CONDITIONS.indexOf('pin');
  const register = line.takes('x', 'y');
  if (!register) return 0;
  if (line.takes('--')) return CONDITIONS.indexOf(`${register as 'x'}--`);
  line.needs('!=');
  if (register !== 'x' || !line.takes('y')) line.fault('x is compared with y, in this order');
  return CONDITIONS.indexOf('x!=y');
}

function nameIn(line: Reader, ...names: readonly string[]): string {
  return line.takes(...names) ?? line.fault(`"!" stands before ${names.join(', ')}`);
}

function countOf(line: Reader): number {
  line.needs(',');
  return line.number('number of bits', 1, 32) & 0x1f;
}

function blockOf(line: Reader): number {
  return line.takes('block', 'noblock') === 'noblock' ? 0 : 1;
}

function flagOf(line: Reader): number {
  const flag = line.number('flag', 0, 7);
  return line.takes('rel') ? RELATIVE | flag : flag;
}
