/**
 * The board of the last start as it was checked, by its text and the schema: to read and check one anew takes as long
 * as the rest of the start. It is a copy that may be lost: no sync, and a hash tells one that is damaged.
 */
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Board, parseBoard } from './board.ts';
import { BOARD_SCHEMA } from './board-schema.ts';

const FILE = '.board';
const HEX = 64;

/** Reads a board from YAML, or what was made of the same text; keeps it in `folder`. Throws BoardError. */
export function readBoard(text: string, name: string, folder?: string): Board {
  if (folder === undefined) return parseBoard(text, name);
  const of = hash('sha256', JSON.stringify([text, BOARD_SCHEMA]));
  const kept = keptIn(folder);
  if (kept?.of === of) return kept.board;
  const board = parseBoard(text, name);
  keep(folder, JSON.stringify({ of, board }));
  return board;
}

function keptIn(folder: string): { readonly of: string; readonly board: Board } | undefined {
  try {
    const contents = readFileSync(join(folder, FILE), 'utf8');
    const json = contents.slice(HEX);
    return hash('sha256', json) === contents.slice(0, HEX) ? JSON.parse(json) : undefined;
  } catch {
    return undefined; // the first start
  }
}

function keep(folder: string, json: string): void {
  const file = join(folder, FILE);
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${file}.new`, hash('sha256', json) + json, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // A full or read-only disk: the next start reads the board anew.
  }
}
