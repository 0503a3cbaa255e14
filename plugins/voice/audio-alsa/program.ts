/** arecord and aplay as programs of their own: what a sound card does to them ends them alone. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { reasonOf } from '@device-core/plugin-api';

const MOST_TOLD = 400;

export interface End {
  /** For people: why it ended. Undefined: it did what it was to do. */
  readonly reason: string | undefined;
}

export interface Program<C extends ChildProcess> {
  readonly child: C;
  /** Set when it has ended. */
  readonly end: () => End | undefined;
  /** Never rejects. */
  readonly ended: Promise<End>;
}

export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export function record(options: ProgramOptions): Program<ChildProcessByStdio<null, Readable, Readable>> {
  const child = spawn(options.command, options.args, { stdio: ['ignore', 'pipe', 'pipe'], env: options.environment });
  return watched(options.command, child, child.stderr);
}

export function playing(options: ProgramOptions): Program<ChildProcessByStdio<Writable, null, Readable>> {
  const child = spawn(options.command, options.args, { stdio: ['pipe', 'ignore', 'pipe'], env: options.environment });
  // It may end before it has read all; how it ended tells why.
  child.stdin.on('error', () => undefined);
  return watched(options.command, child, child.stderr);
}

function watched<C extends ChildProcess>(command: string, child: C, errors: Readable): Program<C> {
  let told = '';
  let end: End | undefined;
  errors.setEncoding('utf8').on('data', (text: string) => {
    if (told.length < MOST_TOLD) told += text;
  });
  const ended = new Promise<End>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      const absent = error.code === 'ENOENT' || error.code === 'EACCES';
      end ??= { reason: absent ? `there is no ${command}: install the Debian package alsa-utils` : reasonOf(error) };
      resolve(end);
    });
    child.on('close', (status, signal) => {
      const last = told.trim().split('\n').at(-1) ?? '';
      end ??= { reason: status === 0 ? undefined : last || `${command} ended with ${status ?? signal}` };
      resolve(end);
    });
  });
  return { child, ended, end: () => end };
}
