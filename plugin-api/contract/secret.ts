/** Secrets as plugins hold them: an object without a text until it is asked for, and the reference that stands in a configuration. */
import type { JsonSchema } from './json-schema.ts';

/** The longest one, in bytes of UTF-8. */
export const LONGEST_SECRET = 16 << 10;

/** `{ secret: cloud.token }` in a configuration. It stays a reference everywhere; `secrets.get` makes a Secret of it. */
export interface SecretRef {
  readonly secret: string;
}

/** Pattern of every secret's name, in its scope and in a reference. */
export const SECRET_NAME = '^[a-z][A-Za-z0-9_-]*(\\.[A-Za-z0-9_][A-Za-z0-9_-]*)*$';
export const LONGEST_SECRET_NAME = 128;

/** Schema of a configuration member that names a secret. */
export const SECRET_REF: JsonSchema = {
  type: 'object',
  required: ['secret'],
  additionalProperties: false,
  properties: {
    secret: { type: 'string', pattern: SECRET_NAME, maxLength: LONGEST_SECRET_NAME },
  },
  description: 'the name of a secret: `devicectl secret set NAME` gives it its text',
};

/** True for a reference with any name; own members alone count. */
export function isSecretRef(value: unknown): value is SecretRef {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return (
    Object.keys(value).length === 1 && Object.hasOwn(value, 'secret') && typeof (value as SecretRef).secret === 'string'
  );
}

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/**
 * Not a string on purpose: what prints it, makes JSON of it or copies it to another thread gets its name. `reveal()`
 * answers with the text, and is counted. Keep the Secret, not the text: one that was rotated is read anew by the next
 * `secrets.get`.
 */
export class Secret {
  readonly #name: string;
  readonly #read: () => Promise<string>;

  constructor(name: string, read: () => Promise<string>) {
    this.#name = name;
    this.#read = read;
  }

  get name(): string {
    return this.#name;
  }

  /** Throws SECRET_NOT_FOUND where it was deleted meanwhile, SECRETS_LOCKED. */
  reveal(): Promise<string> {
    return this.#read();
  }

  /** Its bytes of UTF-8, in memory that the caller can fill when it is done. */
  async revealBytes(): Promise<Uint8Array> {
    return new TextEncoder().encode(await this.#read());
  }

  toString(): string {
    return `[secret ${this.#name}]`;
  }

  toJSON(): string {
    return this.toString();
  }

  [INSPECT](): string {
    return this.toString();
  }
}
