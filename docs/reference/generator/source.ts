import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Text of a file of the tree; documents quote the sources, so that they cannot say anything else. */
export function readSource(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8');
}

/** The source of an exported interface or type, from its docstring to its last brace. */
export function declaration(source: string, name: string): string {
  const found = new RegExp(`^export (?:interface|type) ${name}\\b`, 'm').exec(source);
  if (!found) throw new Error(`there is no exported type ${name}`);
  return docComment(source, found.index) + source.slice(found.index, endOf(source, found.index));
}

/** Names of every exported interface and type, in order. */
export function exportedTypes(source: string): readonly string[] {
  return [...source.matchAll(/^export (?:interface|type) (\w+)/gm)].map((match) => match[1]!);
}

/** The prose of the docstring right before a place in the source; empty if there is none. */
export function docstring(source: string, marker: string): string {
  const at = source.indexOf(marker);
  if (at < 0) throw new Error(`the source does not contain ${marker}`);
  return docComment(source, at)
    .replace(/^\/\*\*|\*\/\s*$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trim())
    .join(' ')
    .trim();
}

function docComment(source: string, at: number): string {
  const before = source.slice(0, at);
  const comment = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*$/.exec(before);
  return comment ? comment[0].replace(/[ \t]+$/, '') : '';
}

/** An interface ends with its brace, a type with its semicolon. */
function endOf(source: string, start: number): number {
  const last = source.startsWith('export interface', start) ? '}' : ';';
  let depth = 0;
  for (let index = start; index < source.length; index++) {
    if (source.startsWith('/*', index)) index = source.indexOf('*/', index) + 1; // prose has semicolons of its own
    const char = source[index];
    if (char === '{') depth += 1;
    if (char === '}') depth -= 1;
    if (depth === 0 && char === last) return index + 1;
  }
  return source.length;
}
