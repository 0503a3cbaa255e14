/** Rules that the page shares with the Core. Browsers load files of the page alone, so each is a copy; its source in plugin-api imports nothing. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SOURCES: Readonly<Record<string, string>> = {
  characters: 'plugin-api/kits/characters.ts',
  choice: 'plugin-api/inside/consent-choice.ts',
  'command-words': 'plugin-api/inside/command-words.ts',
  schema: 'plugin-api/inside/schema-reader.ts',
  words: 'plugin-api/inside/consent/words.ts',
};

export const SHARED_FILES: Readonly<Record<string, () => string>> = Object.fromEntries(
  Object.entries(SOURCES).map(([name, source]) => [
    `../../plugins/interface/web/ui/shared/${name}.ts`,
    () => {
      const text = readFileSync(fileURLToPath(new URL(`../../../${source}`, import.meta.url)), 'utf8');
      return `// Made from ${source} by "npm run docs": change it there.\n${text}`;
    },
  ]),
);
