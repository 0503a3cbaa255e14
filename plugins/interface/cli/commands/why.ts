import { callerName, type Refusal } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action } from '../cli.ts';
import { timeOf } from '../output.ts';

const ALSO: Readonly<Record<string, string>> = {
  sensitive: 'sensitive: the SKU has to list it under grants',
  oem: 'oem: only the SKU can grant it',
};

export function addWhy(program: Command): void {
  program
    .command('why')
    .description('the last refusals for want of a capability, and the line that would grant it')
    .action(
      action(async ({ client, out }) => {
        const answer = await client.get('/refusals');
        if (out.json) return out.line(answer.text);
        const rows = (answer.body.refusals as readonly Refusal[]).map((refusal) => [
          timeOf(refusal.ts),
          callerName(refusal.caller),
          refusal.capability,
          refusal.hint,
          ALSO[refusal.class] ?? refusal.class,
        ]);
        await out.table(['AT', 'CALLER', 'CAPABILITY', 'GRANT IT WITH', 'CLASS'], rows, {
          empty: 'nothing has been refused since the Core started',
        });
      }),
    );
}
