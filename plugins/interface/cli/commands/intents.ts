/** `devicectl intents`: what can be said, and what a text means. */
import type { IntentMatch, IntentPlan, SpeechGrammar } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action } from '../cli.ts';
import type { Output } from '../output.ts';
import { cell } from '../output.ts';

interface Language {
  readonly language?: string;
}

interface Listed {
  readonly intents: readonly {
    readonly id: string;
    readonly title: string;
    readonly owner: string;
    readonly example: string;
  }[];
  readonly leftOut: readonly { readonly app: string; readonly function: string; readonly reason: string }[];
}

export function addIntents(program: Command): void {
  const intents = program.command('intents').description('what can be said to the device');
  intents
    .command('list', { isDefault: true })
    .description('everything that can be said now, with an example, and what cannot and why')
    .option('--language <tag>', 'only of this language')
    .action(
      action<[], Language>(async ({ client, out }, _, { language }) => {
        const answer = await client.get('/intents', { query: { language } });
        if (out.json) return out.line(answer.text);
        const { intents: list, leftOut } = answer.body as unknown as Listed;
        const rows = list.map(({ id, example, title, owner }) => [id, example, owner, title]);
        await out.table(['INTENT', 'EXAMPLE', 'OWNER', 'TITLE'], rows, { empty: 'nothing can be said now' });
        for (const one of leftOut)
          await out.line(`left out: ${cell(one.function)} of ${cell(one.app)}: ${cell(one.reason)}`);
      }),
    );
  intents
    .command('match <text>')
    .description('what a text means, without doing it')
    .option('--language <tag>', 'in this language (default: that of the device)')
    .action(
      action<[string], Language>(async ({ client, out }, [text], { language }) => {
        const answer = await client.post('/intents/match', { text, ...(language !== undefined && { language }) });
        if (out.json) return out.line(answer.text);
        const found = answer.body as unknown as IntentMatch;
        if (found.outcome === 'none') return out.line(`nothing: ${cell(found.reason)}`);
        if (found.outcome === 'plan') return tell(out, found.plan);
        await out.line('more than one:');
        for (const plan of found.candidates) await tell(out, plan);
      }),
    );
  intents
    .command('grammar')
    .description('the grammar that recognisers get (JSGF)')
    .option('--language <tag>', 'of this language (default: that of the device)')
    .action(
      action<[], Language>(async ({ client, out }, _, { language }) => {
        const answer = await client.get('/intents/grammar', { query: { language } });
        if (out.json) return out.line(answer.text);
        const { grammar } = answer.body as { readonly grammar?: SpeechGrammar };
        await out.line(grammar ? grammar.jsgf.trimEnd() : 'nothing can be said now');
      }),
    );
}

async function tell(out: Output, { intent, title, slots, mayGoOn }: IntentPlan): Promise<void> {
  const said = Object.entries(slots).map(([name, value]) => ` ${name}=${cell(value)}`);
  await out.line(`${cell(intent)}${said.join('')}  (${cell(title)}${mayGoOn ? '; may go on' : ''})`);
}
