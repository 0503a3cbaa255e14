import type { Command } from 'commander';
import { action } from '../cli.ts';

export function addOpenapi(program: Command): void {
  program
    .command('openapi')
    .description('the REST interface as an OpenAPI document')
    .option('--rpc', 'the JSON-RPC interface as an OpenRPC document instead')
    .action(
      action<[], { readonly rpc?: boolean }>(async ({ client, out }, _, { rpc }) => {
        const answer = await client.get(rpc ? '/openrpc.json' : '/openapi.json');
        await out.line(out.json ? answer.text : JSON.stringify(answer.body, null, 2));
      }),
    );
}
