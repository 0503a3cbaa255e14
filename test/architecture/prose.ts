/** Markdown as sentences for the tests of the language. */

export interface Sentence {
  /** Of its paragraph; counts from 1. */
  readonly line: number;
  readonly text: string;
}

/** Without code blocks and comments; lines stay where they are. */
function withoutCode(markdown: string): string {
  const blank = (text: string) => text.replace(/[^\n]/g, '');
  return markdown.replace(/^```[\s\S]*?^```/gm, blank).replace(/<!--[\s\S]*?-->/g, blank);
}

/** The words that people read: no code, no addresses of links. */
export function proseOf(markdown: string): string {
  return withoutCode(markdown)
    .replace(/`[^`\n]*`/g, '``')
    .replace(/\]\([^)\s]*\)/g, ']')
    .replace(/https?:\S+/g, '');
}

/** Paragraphs, list items, headings and cells of tables, cut after `.`, `!` and `?` before a capital letter or code. */
export function sentencesOf(markdown: string): readonly Sentence[] {
  const found: Sentence[] = [];
  let block: string[] = [];
  let from = 0;
  const end = () => {
    const text = block.join(' ').replace(/\]\([^)\s]*\)/g, ']');
    block = [];
    for (const sentence of text.split(/(?<=[.!?]["')*\]]*)\s+(?=[A-Z"`([*])/))
      if (sentence.trim() !== '') found.push({ line: from, text: sentence.trim() });
  };
  for (const [index, whole] of withoutCode(markdown).split('\n').entries()) {
    const line = whole.trim();
    const marker = /^(?:#+|[-*]|\d+\.|>)\s+/.exec(line)?.[0];
    if (line === '' || marker !== undefined || line.startsWith('|')) end();
    if (block.length === 0) from = index + 1;
    if (line.startsWith('|'))
      for (const cell of line.split(/(?<!\\)\|/)) {
        // Layouts of packets are no sentences.
        block = /^\s*u(?:8|16|32) /.test(cell) ? [] : [cell];
        end();
      }
    else if (line !== '') block.push(line.slice(marker?.length ?? 0));
    if (line.startsWith('#')) end();
  }
  end();
  return found;
}

/** Code counts as one word, and a list of code as none. */
export function wordsOf(sentence: string): number {
  const lists = sentence.replace(/`[^`]*`(?:, `[^`]*`| and `[^`]*`|, \.\.\.)+/g, '`x`').replace(/`[^`]*`/g, 'x');
  return lists.split(/\s+/).filter((word) => /[A-Za-z0-9]/.test(word)).length;
}
