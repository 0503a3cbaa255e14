/** State of a device, as files below a folder. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const SECRET = 'sk-do-not-tell';
export const STATE = {
  'config.yaml': `format: 1\nkey: ${SECRET}\n`,
  'apps/com.example.tea/config.yaml': `token: ${SECRET}\n`,
  'apps/com.example.tea/data/cups.json': '{"cups": 3}',
  'apps/com.example.tea/data/deep/empty': '',
  'audio/state.json': '{"format":1,"volume":0.5}\n',
  'app-store/secrets/key': SECRET,
  'voice/big.bin': 'x'.repeat(700_000),
} as const;
export const NO_STATE = {
  'log/core.log': 'a line',
  'cache/compile/x': 'code',
  'update/history.jsonl': 'history',
  // A restore lets in nobody who was revoked since, and nobody who was let in before.
  'browsers/keys.json': 'a key',
  'apps/com.example.tea/cache/y': 'again',
} as const;

export function lay(root: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** Every file below a folder with its bytes. */
export function filesOf(root: string): Record<string, string> {
  const found = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = found.map((entry) => join(entry.parentPath, entry.name)).sort();
  return Object.fromEntries(paths.map((path) => [path.slice(root.length + 1), readFileSync(path, 'latin1')]));
}
