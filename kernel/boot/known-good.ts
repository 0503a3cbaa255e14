/**
 * Manifests and configurations that a former start found right, by their text: a warm start neither parses nor checks
 * them again, and loads neither the YAML parser nor Ajv. It lies beside the compile cache, which is code: who could
 * forge the one could forge the other. It is as little missed.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { makeFolder, replaceFile } from '@device-core/plugin-api/durable';
import { addressPasswords } from './address-passwords.ts';

const FILE = 'known-good';
/** Version of the file: one of another form is made anew. */
const FORM = 2;
const HASH = 'sha256';
const HASH_BYTES = 32;
/** Room for some SKUs of forty plugins; the least recently used entries go. */
const MOST = 512;

type Kind = 'plugin' | 'sku' | 'config';

interface Contents {
  /** Hash of the rules that its entries passed. */
  readonly rules: string;
  readonly entries: Map<string, unknown>;
}

export class KnownGood {
  static readonly none = new KnownGood(undefined, '', new Map());
  readonly #file: string | undefined;
  readonly #rules: string;
  readonly #entries: Map<string, unknown>;
  #changed = false;

  private constructor(file: string | undefined, rules: string, entries: Map<string, unknown>) {
    this.#file = file;
    this.#rules = rules;
    this.#entries = entries;
  }

  /** Opens the folder's file; empty if other rules were checked, or if it is damaged. */
  static open(folder: string, rules: readonly string[]): KnownGood {
    const file = join(folder, FILE);
    const those = hash(HASH, JSON.stringify([process.version, FORM, ...rules]));
    const found = contentsOf(file);
    return new KnownGood(file, those, found?.rules === those ? found.entries : new Map());
  }

  /** Parsed value of the text; the same object for the same text. */
  get(kind: Kind, text: string): unknown {
    if (this.#file === undefined) return undefined;
    const key = keyOf(kind, text);
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** Call it before the value is frozen or changed by others: it is kept as it is now. */
  add(kind: Kind, text: string, value: unknown): void {
    // A password must not stay here when it was taken from the SKU.
    if (this.#file === undefined || addressPasswords(value).length > 0) return;
    this.#entries.set(keyOf(kind, text), structuredClone(value));
    this.#changed = true;
  }

  /** Writes it where something was added. Rejects as replaceFile() does. */
  async keep(): Promise<void> {
    if (this.#file === undefined || !this.#changed) return;
    this.#changed = false;
    const contents: Contents = { rules: this.#rules, entries: new Map([...this.#entries].slice(-MOST)) };
    const bytes = serialize(contents);
    await makeFolder(dirname(this.#file));
    await replaceFile(this.#file, Buffer.concat([hash(HASH, bytes, 'buffer'), bytes]));
  }
}

function keyOf(kind: Kind, text: string): string {
  return `${kind} ${hash(HASH, text, 'base64')}`;
}

function contentsOf(file: string): Contents | undefined {
  try {
    const bytes = readFileSync(file);
    const rest = bytes.subarray(HASH_BYTES);
    return hash(HASH, rest, 'buffer').equals(bytes.subarray(0, HASH_BYTES)) ? deserialize(rest) : undefined;
  } catch {
    return undefined; // the first start, or one that cannot read it: it is made anew
  }
}
