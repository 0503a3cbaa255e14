/** A Core on another machine: its shared Unix socket, carried here by the system's ssh for as long as one command runs. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { EXIT, Failure, usage } from '@device-core/plugin-api/program';

/** Nothing of it can be an option of ssh, or a second part of a forwarding. */
const ADDRESS =
  /^ssh:\/\/(?:([A-Za-z0-9_][A-Za-z0-9._-]*)@)?([A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?(\/[A-Za-z0-9._/-]*)?$/;
/** Run folder of an installed Core. */
const RUN = '/run/device';
const LOOK_MS = 20;
/** People type passwords. */
const CONNECT_MS = 60_000;
const MOST_SAID = 2_000;

export class SshDevice implements Disposable {
  /** As it was written. */
  readonly name: string;
  readonly #host: string;
  readonly #user: string | undefined;
  readonly #port: string | undefined;
  readonly #run: string;
  #folder: string | undefined;
  #child: ChildProcess | undefined;
  #opening: Promise<string> | undefined;
  #said = '';
  #ended: string | undefined;

  /** `ssh://[user@]host[:port][/run/folder]`. Throws a Failure for anything else. */
  constructor(address: string) {
    const [, user, host, port, run = ''] = ADDRESS.exec(address) ?? [];
    if (host === undefined || Number(port ?? 1) > 65_535 || Number(port ?? 1) === 0 || run.split('/').includes('..'))
      throw usage(`--device must be an address such as ssh://pi@device.local, not "${address}"`);
    this.name = address;
    this.#host = host.replace(/^\[|\]$/g, '');
    this.#user = user;
    this.#port = port;
    this.#run = run.replace(/\/+$/, '') || RUN;
  }

  /** Path of a socket here that leads to the Core there. Made once, at the first need. Rejects with a Failure. */
  socket(): Promise<string> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /** Last complaint of ssh, for a connection that broke. */
  get trouble(): string {
    const last = this.#said.trim().split('\n').at(-1)?.trim() ?? '';
    return this.#ended ?? last;
  }

  [Symbol.dispose](): void {
    this.#child?.kill();
    this.#child = undefined;
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }

  async #open(): Promise<string> {
    // The folder is readable by this user alone: the socket gives the rights of the login.
    this.#folder = mkdtempSync(join(tmpdir(), 'dssh-'));
    const local = join(this.#folder, 's');
    const child = spawn('ssh', this.#arguments(local), { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    const guard = endsWith(child);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-MOST_SAID);
    });
    child.once('error', (error: NodeJS.ErrnoException) => {
      this.#ended = error.code === 'ENOENT' ? 'there is no ssh on this machine' : `cannot run ssh: ${error.code}`;
    });
    child.once('close', (code) => {
      guard[Symbol.dispose]();
      const said = this.#said.trim().split('\n').at(-1);
      this.#ended ??= `ssh ended with code ${code}${said ? `: ${said}` : ''}`;
    });
    const end = performance.now() + CONNECT_MS;
    while (!(await listens(local))) {
      if (this.#ended !== undefined || performance.now() > end)
        throw new Failure(EXIT.unreachable, 'UNAVAILABLE', `cannot reach ${this.name}: ${this.#ended ?? 'no answer'}`);
      await later(LOOK_MS);
    }
    return local;
  }

  #arguments(local: string): readonly string[] {
    const options = {
      ExitOnForwardFailure: 'yes',
      StreamLocalBindMask: '0177',
      // Another command's connection would not know of this socket.
      ControlMaster: 'no',
      ControlPath: 'none',
      ServerAliveInterval: '15',
    };
    return [
      ...['-N', '-T'],
      ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
      ...['-L', `${local}:${this.#run}/core.sock`],
      ...(this.#port === undefined ? [] : ['-p', this.#port]),
      ...(this.#user === undefined ? [] : ['-l', this.#user]),
      ...['--', this.#host],
    ];
  }
}

/** Whether somebody takes connections there: the file of a socket is there a moment before that. */
function listens(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** A signal that ends this process by default has to end the child first. */
function endsWith(child: ChildProcess): Disposable {
  const kill = () => void child.kill();
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => {
    const handler = () => {
      // Another listener, a program that ends in good order, still needs the connection.
      if (process.listenerCount(signal) > 0) return;
      kill();
      process.kill(process.pid, signal);
    };
    process.once(signal, handler);
    return [signal, handler] as const;
  });
  process.once('exit', kill);
  return {
    [Symbol.dispose]() {
      process.off('exit', kill);
      for (const [signal, handler] of handlers) process.off(signal, handler);
    },
  };
}
