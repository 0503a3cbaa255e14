import type { Command } from 'commander';
import { appTokenOf } from '../app-token.ts';
import { action } from '../cli.ts';

export function addToken(program: Command): void {
  program
    .command('token')
    .description("print the operator's token, for curl: it is a secret, and void when the Core makes a new one")
    .option('--app <id>', 'the token of this running app instead')
    .action(
      action<[], { readonly app?: string }>(async ({ client, target, out }, _, { app }) => {
        const token = app === undefined ? target.operatorToken() : await appTokenOf(client, app);
        await out.line(out.json ? JSON.stringify({ token }) : token);
      }),
    );
}
