/** `character.yaml` as a character. */
import { CoreError } from '../../contract/errors.ts';
import type { CharacterSpec } from '../../scene/character/spec.ts';
import { parseYaml } from '../yaml.ts';
import { checkCharacter } from './check.ts';

/** The text of `file`. Throws SCENE_INVALID {what: file, where: 'line 12, /parts/3/fil', reason}. */
export function readCharacter(text: string, file: string): CharacterSpec {
  const { value, errors, line } = parseYaml(text);
  const [fault] = errors;
  if (fault) throw new CoreError('SCENE_INVALID', { what: file, where: `line ${fault.line}`, reason: fault.message });
  try {
    return checkCharacter(value, file);
  } catch (error) {
    if (!(error instanceof CoreError) || error.code !== 'SCENE_INVALID') throw error;
    const { where, reason } = error.details as { readonly where: string; readonly reason: string };
    const path = where
      .split('/')
      .slice(1)
      .filter((part) => part !== '');
    throw new CoreError('SCENE_INVALID', { what: file, where: `line ${line(path)}, ${where}`, reason });
  }
}
