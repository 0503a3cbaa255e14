import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { action } from '../cli.ts';
import { EXIT, type ExitCode } from '../failure.ts';

/** The check is a program of plugin-api, which authors have without a Core; what it runs may hang or exit. */
const PROGRAM = fileURLToPath(import.meta.resolve('@device-core/plugin-api/plugin-check'));

export function addPluginCheck(plugin: Command): void {
  plugin
    .command('check [folder]')
    .description('manifest, types, tests, start and stop at the three isolation levels, minimal grants; needs no Core')
    .action(action<[string | undefined]>(async ({ out }, [folder = '.']) => check(folder, out.json)));
}

async function check(folder: string, json: boolean): Promise<ExitCode> {
  const child = spawn(process.execPath, [PROGRAM, folder, ...(json ? ['--json'] : [])], { stdio: 'inherit' });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code === EXIT.ok || code === EXIT.usage) return code;
  return EXIT.answered;
}
