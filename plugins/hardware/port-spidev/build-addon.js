/**
 * Builds spi-device's addon for the Node that runs the Core. npm runs this after an installation, with any Node;
 * nothing is fetched (the headers come with the pinned Node) and nothing fails: a Core without the addon runs, and says
 * in /health why it has no bridge.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
const BUILD_MS = 180_000;

function builtAlready(node, addon) {
  const tried = spawnSync(node, ['-e', `require(${JSON.stringify(addon)})`], { stdio: 'ignore' });
  return tried.status === 0;
}

function nodeGyp() {
  // npm tells its own; a package manager that does not may have one beside it.
  const named = process.env.npm_config_node_gyp;
  return named && existsSync(named) ? named : undefined;
}

function build() {
  const require = createRequire(join(ROOT, 'package.json'));
  const pinned = join(ROOT, 'node_modules', `node-linux-${process.arch}`);
  const node = join(pinned, 'bin/node');
  if (!existsSync(node)) return 'the pinned Node is not installed';
  let addon;
  try {
    addon = dirname(require.resolve('spi-device/package.json'));
  } catch {
    return 'the package spi-device is not installed'; // optional: npm leaves it out where it cannot be
  }
  if (builtAlready(node, addon)) return undefined;
  const gyp = nodeGyp();
  if (!gyp) return 'npm did not say where its node-gyp is';
  try {
    execFileSync(node, [gyp, 'rebuild', '--release'], {
      cwd: addon,
      // In the environment: there a setting of the machine's npm would win over the command line.
      env: { ...process.env, npm_config_nodedir: pinned },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: BUILD_MS,
      encoding: 'utf8',
    });
  } catch (error) {
    const lines = String(error.stderr ?? error.message).split('\n');
    const said = lines.find((line) => /error|not found|ERR! stack/i.test(line)) ?? lines[0];
    return `its build failed: ${said}`;
  }
  return builtAlready(node, addon) ? undefined : 'it was built, but does not load';
}

const reason = build();
if (reason !== undefined) {
  console.log(
    `note: no addon for SPI devices (${reason}). The simulated device does not need it; a device with a real`,
  );
  console.log('bridge does: install python3, make and a C++ compiler, and run "npm run postinstall".');
}
