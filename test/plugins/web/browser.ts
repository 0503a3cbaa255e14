/** A browser that stays signed in, played by node:crypto: what it signs and how it writes its key. */
import { generateKeyPairSync, sign } from 'node:crypto';

export const HERE = 'http://127.0.0.1:55280';

export class KeyOfBrowser {
  readonly #pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  /** As WebCrypto exports it `raw`. */
  get key(): string {
    const { x = '', y = '' } = this.#pair.publicKey.export({ format: 'jwk' });
    const halves = [x, y].map((half) => Buffer.from(half, 'base64url'));
    return Buffer.concat([Buffer.of(4), ...halves]).toString('base64url');
  }

  proof(browser: string, challenge: string, origin = HERE) {
    const text = Buffer.from(`device-core browser 1\n${origin}\n${browser}\n${challenge}`);
    const signature = sign('sha256', text, { key: this.#pair.privateKey, dsaEncoding: 'ieee-p1363' });
    return { browser, origin, challenge, signature: signature.toString('base64url') };
  }
}
