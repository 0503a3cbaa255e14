import { defineProgram } from '@device-core/plugin-api/program';

/** `devicectl openapi` */
export const program = defineProgram<{ readonly rpc?: boolean; readonly events?: boolean }>({
  params: {
    type: 'object',
    properties: {
      rpc: { type: 'boolean', description: 'the JSON-RPC interface as an OpenRPC document instead' },
      events: { type: 'boolean', description: 'the events as an AsyncAPI document instead' },
    },
  },
  async run({ client, out, args }) {
    const answer = await client.get(args.events ? '/asyncapi.json' : args.rpc ? '/openrpc.json' : '/openapi.json');
    await out.line(out.json ? answer.text : JSON.stringify(answer.body, null, 2));
  },
});
