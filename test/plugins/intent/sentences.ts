/** Readings of a tree and of a grammar that know nothing of the matcher. */
import fc from 'fast-check';
import { spokenOf } from '../../../plugins/voice/intent/grammar.ts';
import type { Node } from '../../../plugins/voice/intent/tree.ts';

/** Every sentence of a small tree. */
export function sentencesOf(node: Node): string[] {
  const spoken = spokenOf(node);
  return spoken ? [...new Set(expand(spoken).map((words) => words.join(' ')))] : [];
}

function expand(node: Node): string[][] {
  if (node.kind === 'word') return [[node.word]];
  if (node.kind === 'slot') return expand(spokenOf(node.slot.said!)!);
  if (node.kind === 'any') return node.of.flatMap(expand);
  return node.of.reduce<string[][]>(
    (sofar, part) => sofar.flatMap((one) => expand(part).map((more) => [...one, ...more])),
    [[]],
  );
}

/** Says a sentence of a JSGF grammar: `choose(n)` takes one of n. */
export function sample(jsgf: string, choose: (count: number) => number): string {
  const [header = '', , ...rest] = jsgf.split(';');
  if (!header.startsWith('#JSGF V1.0')) throw new Error('no JSGF');
  const rules = new Map<string, string>();
  for (const line of rest) {
    const [, name, body] = /^\s*(?:public )?<(\w+)> = ([\s\S]*)$/.exec(line) ?? [];
    if (name !== undefined && body !== undefined) rules.set(name, body);
  }
  const say = (text: string): string[] => {
    const tokens = text.match(/[()[\]|]|<\w+>|[^\s()[\]|<>]+/g) ?? [];
    let at = 0;
    const alternatives = (): string[] => {
      const branches: string[][] = [[]];
      while (at < tokens.length && tokens[at] !== ')' && tokens[at] !== ']') {
        const token = tokens[at++]!;
        if (token === '|') branches.push([]);
        else if (token === '(' || token === '[') {
          const inside = alternatives();
          at++;
          if (token === '(' || choose(2) === 0) branches.at(-1)!.push(...inside);
        } else if (token.startsWith('<')) {
          const body = rules.get(token.slice(1, -1));
          if (body === undefined) throw new Error(`there is no rule ${token}`);
          branches.at(-1)!.push(...say(body));
        } else branches.at(-1)!.push(token);
      }
      return branches[choose(branches.length)]!;
    };
    return alternatives();
  };
  return say('<command>').join(' ');
}

/** Templates over few words, so that sentences meet. */
export const template: fc.Arbitrary<string> = fc
  .letrec<{ readonly part: string; readonly phrase: string }>((tie) => ({
    part: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(
        'go',
        'stop',
        'the',
        'light',
        '2',
        '{n:1..120}',
        '{level:0..1/0.1}',
        '{room:kitchen|living room|hall=h}',
        '{title}',
      ),
      tie('phrase').map((phrase) => `[${phrase}]`),
      fc.array(tie('phrase'), { minLength: 2, maxLength: 3 }).map((parts) => `(${parts.join('|')})`),
      fc.tuple(tie('phrase'), tie('phrase')).map((parts) => `(${parts.join(';')})`),
    ),
    phrase: fc.array(tie('part'), { minLength: 1, maxLength: 3 }).map((parts) => parts.join(' ')),
  }))
  .phrase.map((phrase) => phrase);
