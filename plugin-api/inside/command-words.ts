/** Words of devicectl for names of the table: the one rule of devicectl and of the page that shows commands. Without imports: browsers load it, too. Pure. */

/** `rxLen` -> `rx-len`, `JSONInputs` -> `json-inputs`. */
export function kebab(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, (_, a = '', b = '', c = '') => (c ? `${c}-` : `${a}-${b}`))
    .replaceAll('_', '-')
    .toLowerCase();
}

/** Singular of an English noun in its regular plural. */
export function singular(noun: string): string {
  if (/[^aeiou]ies$/.test(noun)) return `${noun.slice(0, -3)}y`;
  if (/(ch|sh|x|ss)es$/.test(noun)) return noun.slice(0, -2);
  return /[^siu]s$/.test(noun) && noun.length > 3 ? noun.slice(0, -1) : noun;
}

/** `bridge.resetEndpoint` -> `bridge reset-endpoint`, `plugins.list` -> `plugin list`. */
export function commandOf(name: string): string {
  const [noun = '', ...rest] = name.split('.').map(kebab);
  return [singular(noun), ...rest].join(' ');
}
