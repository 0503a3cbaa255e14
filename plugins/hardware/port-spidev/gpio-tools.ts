/** Command lines of libgpiod, whose two major versions disagree, and the probe for the installed version. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CoreError, reasonOf } from '@device-core/plugin-api';

const PROBE_MS = 2_000;
const RESET_MS = 10;

/** A line of a GPIO controller of the host. */
export interface GpioPin {
  /** `gpiochip0` */
  readonly chip: string;
  readonly line: number;
}

export interface GpioTools {
  readonly major: 1 | 2;
  /** A line per edge: `1` up, anything else down. */
  monitor({ chip, line }: GpioPin): readonly [command: string, ...args: string[]];
  read({ chip, line }: GpioPin): readonly [command: string, ...args: string[]];
  pullLow({ chip, line }: GpioPin): readonly [command: string, ...args: string[]];
}

/** `folder` holds gpiomon, gpioget and gpioset; empty: where the PATH says. Rejects with NOT_INITIALIZED. */
export async function findGpioTools(folder: string): Promise<GpioTools> {
  const program = (name: string): string => (folder === '' ? name : `${folder}/${name}`);
  let said: string;
  try {
    const { stdout } = await promisify(execFile)(program('gpiomon'), ['--version'], { timeout: PROBE_MS });
    said = stdout;
  } catch (error) {
    const absent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const reason = absent ? 'gpiomon is not installed (Debian: gpiod)' : `gpiomon: ${reasonOf(error)}`;
    throw new CoreError('NOT_INITIALIZED', { reason });
  }
  const major = Number(/v?(\d+)\.\d+/.exec(said)?.[1]);
  if (major === 1)
    return {
      major,
      monitor: ({ chip, line }) => [program('gpiomon'), '--line-buffered', '--format=%e', chip, String(line)],
      read: ({ chip, line }) => [program('gpioget'), chip, String(line)],
      pullLow: ({ chip, line }) => [
        program('gpioset'),
        '--drive=open-drain',
        '--mode=time',
        `--usec=${RESET_MS * 1000}`,
        chip,
        `${line}=0`,
      ],
    };
  if (major === 2)
    return {
      major,
      monitor: ({ chip, line }) => [program('gpiomon'), '--chip', chip, '--format=%e', String(line)],
      read: ({ chip, line }) => [program('gpioget'), '--chip', chip, '--numeric', String(line)],
      pullLow: ({ chip, line }) => [
        program('gpioset'),
        '--chip',
        chip,
        '--drive',
        'open-drain',
        '--toggle',
        `${RESET_MS}ms,0`,
        `${line}=0`,
      ],
    };
  throw new CoreError('NOT_INITIALIZED', { reason: `gpiomon says it is "${said.split('\n')[0]}", which is not known` });
}
