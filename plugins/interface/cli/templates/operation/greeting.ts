import { CoreError } from '@device-core/plugin-api';
import type { Operation } from '@device-core/plugin-api/services/operations';

interface Params {
  readonly name: string;
}

interface Result {
  readonly text: string;
  readonly signature?: string;
}

export interface Words {
  readonly greeting: string;
  /** The flag: in one word. */
  readonly short: () => boolean;
  /** Counts one. */
  readonly greeted: () => void;
  /** By the secret; undefined where none is named. */
  readonly sign: (text: string) => Promise<string | undefined>;
}

/** One row of the public interface: a REST route, a JSON-RPC method, their validation and their documentation. */
export function greetOperation({ greeting, short, greeted, sign }: Words): Operation<Params, Result> {
  return {
    name: 'pluginId.greet',
    summary: 'greet a person',
    params: {
      type: 'object',
      additionalProperties: false,
      required: ['name'],
      properties: { name: { type: 'string', minLength: 1, maxLength: 40 } },
    },
    result: {
      type: 'object',
      required: ['text'],
      properties: { text: { type: 'string' }, signature: { type: 'string' } },
    },
    rest: { method: 'GET', path: '/plugin-id/greet' },
    errors: ['UNAVAILABLE', 'SECRET_NOT_FOUND', 'SECRETS_LOCKED'],
    async run({ name }) {
      if (name === 'nobody') throw new CoreError('UNAVAILABLE', { what: name, reason: 'there is nobody to greet' });
      const text = short() ? `${greeting}!` : `${greeting}, ${name}!`;
      const signature = await sign(text);
      greeted();
      return signature === undefined ? { text } : { text, signature };
    },
  };
}
