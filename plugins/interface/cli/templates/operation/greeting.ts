import { CoreError, type Operation } from '@device-core/plugin-api';

interface Params {
  readonly name: string;
}

interface Result {
  readonly text: string;
}

/** One row of the public interface: a REST route, a JSON-RPC method, their validation and their documentation. */
export function greetOperation(greeting: string): Operation<Params, Result> {
  return {
    name: 'pluginId.greet',
    summary: 'greet somebody',
    params: {
      type: 'object',
      additionalProperties: false,
      required: ['name'],
      properties: { name: { type: 'string', minLength: 1, maxLength: 40 } },
    },
    result: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
    rest: { method: 'GET', path: '/plugin-id/greet' },
    errors: ['UNAVAILABLE'],
    async run({ name }) {
      if (name === 'nobody') throw new CoreError('UNAVAILABLE', { what: name, reason: 'there is nobody to greet' });
      return { text: `${greeting}, ${name}!` };
    },
  };
}
