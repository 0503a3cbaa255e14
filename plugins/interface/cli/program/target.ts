import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT, Failure, type ProgramTarget, usage } from '@device-core/plugin-api/program';
import { SshDevice } from './ssh-device.ts';

/** Options of every command that say which Core is meant. */
export interface TargetOptions {
  readonly root?: string;
  readonly run?: string;
  readonly socket?: string;
  readonly url?: string;
  readonly tokenFile?: string;
  /** `ssh://host`: the Core of another machine. */
  readonly device?: string;
  /** The Core whose launcher was called: the default target. */
  readonly launched?: { readonly run: string; readonly socket: string };
}

const CHECKOUT_ROOT = fileURLToPath(new URL('../../../../.device', import.meta.url));

/** Which Core is meant, and where its secrets lie. */
export class Target implements ProgramTarget, Disposable {
  /** It is on another machine. */
  readonly device: SshDevice | undefined;
  /** Base address of the TCP listener; undefined: the Unix socket is used. */
  readonly url: URL | undefined;
  readonly socket: string;
  /** Directory of sockets and tokens. */
  readonly run: string;
  readonly root?: string;
  readonly #tokenFile: string | undefined;

  constructor(given: TargetOptions) {
    const options = fromLauncher(given);
    if (options.device !== undefined && [options.root, options.run, options.socket, options.url].some(Boolean))
      throw usage('--device says which Core is meant: --root, --run, --socket and --url are of this machine');
    this.device = options.device === undefined ? undefined : new SshDevice(options.device);
    if (given.root !== undefined) this.root = given.root;
    this.run = resolve(
      options.run ?? (options.root === undefined ? defaultRun(options.socket) : join(options.root, 'run')),
    );
    this.socket = resolve(options.socket ?? join(this.run, 'core.sock'));
    this.url = options.url === undefined ? undefined : parseUrl(options.url);
    this.#tokenFile = options.tokenFile;
  }

  /** How the target is named in messages. */
  get name(): string {
    return this.device?.name ?? this.url?.href ?? `unix:${this.socket}`;
  }

  /** Path of the Unix socket to connect to. Rejects with a Failure where the machine cannot be reached. */
  async reach(): Promise<string> {
    return this.device ? this.device.socket() : this.socket;
  }

  /** The bearer token of a request. On the Unix socket the kernel of the machine says who calls, so none is needed. */
  token(): string | undefined {
    if (this.#tokenFile !== undefined) return readToken(this.#tokenFile);
    return this.url ? this.operatorToken() : undefined;
  }

  operatorToken(): string {
    this.#isHere();
    return readToken(this.#tokenFile ?? join(this.run, 'operator.token'));
  }

  /** Token of the running app with this name (not id). */
  appToken(name: string): string {
    this.#isHere();
    if (!/^[a-z][a-z0-9-]{0,39}$/.test(name)) throw usage(`"${name}" is not the name of an app`);
    return readToken(join(this.run, 'apps', name, 'credentials', 'token'));
  }

  #isHere(): void {
    if (this.device) throw usage('tokens stay on the device; over ssh none is needed', 'ask there: devicectl token');
  }

  [Symbol.dispose](): void {
    this.device?.[Symbol.dispose]();
  }
}

/** A Core that is named is the one that is meant, whichever launcher is called; over TCP the launcher's own has the token. */
function fromLauncher({ launched, ...said }: TargetOptions): TargetOptions {
  if (!launched || (said.root ?? said.run ?? said.socket ?? said.device) !== undefined) return said;
  const { run, socket } = launched;
  return { ...said, run, ...(socket !== '' && said.url === undefined && { socket }) };
}

/** A development root below the working directory, then the checkout's, then the place of an installed Core. */
function defaultRun(socket: string | undefined): string {
  if (socket !== undefined) return dirname(socket);
  const candidates = ['.device/run', join(CHECKOUT_ROOT, 'run'), '/run/device'];
  return candidates.find((run) => existsSync(join(run, 'core.sock'))) ?? candidates[1]!;
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:')
    throw usage(`--url must be an http address such as http://127.0.0.1:55280, not "${text}"`);
  return url;
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw usage(`cannot read token ${file}: ${code}`);
    throw new Failure(EXIT.unreachable, 'UNAVAILABLE', `cannot read token ${file}: there is no such file`, {
      hint: 'does the Core, or the app, run?',
    });
  }
}
