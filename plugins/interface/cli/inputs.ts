import { readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { usage } from './failure.ts';

/** `key=value` words as inputs: a value is read by the type that the function declares for it. */
export function typedInputs(
  words: readonly string[],
  types: Readonly<Record<string, string>> = {},
): Record<string, unknown> {
  const inputs: Record<string, unknown> = {};
  for (const word of words) {
    const [, key, operator, value] = /^([^=:]+)(:=|=)([\s\S]*)$/.exec(word) ?? [];
    if (key === undefined || value === undefined) throw usage(`"${word}" is not of the form key=value or key:=JSON`);
    if (Object.hasOwn(inputs, key)) throw usage(`input ${key} is given twice`);
    inputs[key] = operator === ':=' ? parseJson(value, `input ${key}`) : typed(key, value, types[key]);
  }
  return inputs;
}

function typed(key: string, value: string, type: string | undefined): unknown {
  switch (type?.replace(/\?$/, '')) {
    case 'int':
    case 'number':
      if (value.trim() === '' || Number.isNaN(Number(value)))
        throw usage(`input ${key} must be a number, not "${value}"`);
      return Number(value);
    case 'bool':
      if (value !== 'true' && value !== 'false') throw usage(`input ${key} must be true or false, not "${value}"`);
      return value === 'true';
    case 'object':
    case 'array':
      return parseJson(value, `input ${key}`);
    // Strings and bytes (base64) go as they are; what is unknown, too: the Core then says what is wrong with it.
    default:
      return value;
  }
}

/** `--json-inputs`: a JSON object, `@file`, or `-` for standard input. */
export async function readInputs(argument: string): Promise<Record<string, unknown>> {
  const source = argument === '-' ? await text(process.stdin) : await readArgument(argument);
  const value = parseJson(source, '--json-inputs');
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw usage('--json-inputs must be an object');
  return value as Record<string, unknown>;
}

async function readArgument(argument: string): Promise<string> {
  return argument.startsWith('@') ? (await readBytes(argument.slice(1))).toString('utf8') : argument;
}

export async function readBytes(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw usage(`cannot read ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

export async function writeBytes(file: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(file, bytes);
  } catch (error) {
    throw usage(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

export function parseJson(source: string, what: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    throw usage(`${what} is not JSON: ${(error as Error).message}`);
  }
}

/** Bytes as a person types them, as base64: hex digits, `@file`, or `base64:...`. */
export async function bytesArgument(text: string, option: string): Promise<string> {
  if (text.startsWith('base64:')) return text.slice('base64:'.length);
  if (text.startsWith('@')) return (await readBytes(text.slice(1))).toString('base64');
  const digits = text.replace(/^0x/i, '').replace(/[\s:_-]/g, '');
  if (!/^([0-9a-f]{2})*$/i.test(digits))
    throw usage(`${option} must be pairs of hex digits, @file or base64:..., not "${text}"`);
  return Buffer.from(digits, 'hex').toString('base64');
}
