import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CoreError, Scope } from '@device-core/plugin-api';
import { WantedFile } from '@device-core/plugin-api/durable';

const SCRIPT = fileURLToPath(new URL('./program/devicectl.ts', import.meta.url));

/** `<run>/devicectl`: two lines of sh that start devicectl on the Node of this Core, aimed at this Core. */
export class Launcher implements AsyncDisposable {
  readonly #run: string;
  readonly #file: WantedFile;
  #text = '';

  private constructor(run: string, scope: Scope) {
    this.#run = run;
    // By rename: a shell that reads the old script at this moment goes on reading the old one.
    this.#file = new WantedFile(join(run, 'devicectl'), scope, { mode: 0o755, sync: false });
  }

  static async write(run: string, scope: Scope): Promise<Launcher> {
    const launcher = new Launcher(run, scope);
    await launcher.#write(['--launched', run, '']);
    return launcher;
  }

  /** Writes the socket into the launcher if it is not at its usual place. */
  async pointAt(addresses: readonly string[]): Promise<void> {
    const sockets = addresses.flatMap((address) => (address.startsWith('unix:') ? [address.slice(5)] : []));
    const usual = join(this.#run, 'core.sock');
    const socket = sockets.includes(usual) ? undefined : sockets[0];
    await this.#write(['--launched', this.#run, socket ?? '']);
  }

  async #write(preset: readonly string[]): Promise<void> {
    const words = [process.execPath, SCRIPT, ...preset].map(quote).join(' ');
    const text = `#!/bin/sh\nexec ${words} "$@"\n`;
    if (text === this.#text) return;
    this.#text = text;
    await this.#file.write(text);
  }

  /** Why there is no launcher, or an old one. */
  get trouble(): CoreError | undefined {
    return this.#file.trouble;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#file.path, { force: true });
  }
}

function quote(word: string): string {
  return /^[A-Za-z0-9_./:-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
