import { resolve } from 'node:path';
import { isSame } from '@device-core/plugin-api/inside/consent';
import { claimLines } from '@device-core/plugin-api/inside/program';
import { cell, defineProgram, quoted } from '@device-core/plugin-api/program';
import type { AppDifference } from '../diff-operation.ts';

/** `devicectl app diff` */
export const program = defineProgram<{ readonly source: string }>({
  description: 'Nothing is installed and no question is put. What stands in quotation marks are the words of the app.',
  params: {
    type: 'object',
    required: ['source'],
    properties: { source: { type: 'string', description: 'a .app file or a folder' } },
  },
  async run({ client, out, args }) {
    const answer = await client.post('/apps/diff', { source: resolve(args.source) });
    if (out.json) return out.line(answer.text);
    for (const line of linesOf(answer.body as unknown as AppDifference)) await out.line(line);
  },
});

export function linesOf({ app, version, former, asks, ...more }: AppDifference): readonly string[] {
  const { dropped, budgets, functions } = more;
  const beside = former === undefined ? 'which is not installed' : `beside ${cell(former)}, which is installed`;
  const head = `${cell(app)} ${cell(version)}, ${beside}`;
  if (isSame({ asked: asks, told: [], ...more })) return [head, 'It asks for nothing more.'];
  return [
    head,
    ...(asks.length > 0 ? [former === undefined ? 'It wants:' : 'It wants more:'] : []),
    ...asks.flatMap((one) => [...claimLines(one), `  ${verdictLine(one)}`].map((line) => `  ${line}`)),
    ...part('No longer needed:', dropped, ({ capability, ports }) =>
      [capability, ...(ports ?? [])].map(cell).join(' '),
    ),
    ...part('Budgets:', budgets, ({ budget, from, to }) => `${cell(budget)}: ${from ?? 'none'} -> ${to ?? 'none'}`),
    ...part('Functions:', functions, ({ name, kind, utterances }) => {
      const said = utterances.length > 0 ? `, by voice ${utterances.map(quoted).join(', ')}` : '';
      return `${kind}: ${cell(name)}${said}`;
    }),
  ];
}

const VERDICTS = { granted: 'granted', denied: 'refused', ask: 'you will be asked' } as const;

function verdictLine({ verdict, by, hint }: AppDifference['asks'][number]): string {
  return `${VERDICTS[verdict]}: ${cell(by.line)}${hint === undefined ? '' : `; to grant it: ${cell(hint)}`}`;
}

function part<T>(title: string, items: readonly T[], line: (item: T) => string): readonly string[] {
  return items.length > 0 ? [title, ...items.map((item) => `  ${line(item)}`)] : [];
}
