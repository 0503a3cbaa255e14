/** What dpkg runs as root when a package is installed, with programs of the system that only tell how they are called. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { SCRIPTS } from '../../../plugins/life/maker/image/deb/scripts.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'dc-postinst-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));
let made = 0;

/** Runs postinst where a device is already; `setpriv` stands for the step down: it tells its words, and does `stepsDown`. */
function upgraded(stepsDown: string) {
  const root = join(FOLDER, `${++made}`);
  const program = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `#!/bin/sh\n${text}\n`);
    chmodSync(join(root, path), 0o755);
  };
  for (const name of ['systemd-sysusers', 'systemd-tmpfiles', 'systemctl']) program(`bin/${name}`, 'exit 0');
  program('bin/setsid', '[ "$1" = -w ] && shift && exec "$@"');
  program('bin/setpriv', `printf '%s\\n' "$@"; ${stepsDown}`);
  program('usr/lib/device/boot/bin/node', 'exit 10');
  program('run/device/devicectl', `touch ${root}/started`);
  const text = SCRIPTS.postinst
    .replaceAll('@SERVICE@', 'device')
    .replaceAll(/(?<![\w/])\/(?=(?:usr|run)\/)/g, `${root}/`);
  const { status, stdout, stderr } = spawnSync('sh', ['-c', text, 'postinst', 'configure'], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${join(root, 'bin')}:${process.env.PATH}` },
  });
  return { root, status, stdout, stderr, started: existsSync(join(root, 'started')) };
}

test('postinst gives the image to the Core by its launcher, as the user of the Core and never as root', () => {
  const { root, status, stdout, stderr, started } = upgraded('exit 0');
  assert.deepEqual(stdout.split('\n'), [
    ...['--reuid=device', '--regid=device', '--clear-groups', '--no-new-privs', '--reset-env'],
    ...[`${root}/run/device/devicectl`, 'update', 'install', `${root}/usr/share/device/image/image.tar`, ''],
  ]);
  assert.deepEqual([status, stderr, started], [0, '', false]);
});

test('postinst says what an updater says that refuses, without what would steer a terminal, and goes on', () => {
  const { status, stdout, stderr } = upgraded("printf 'no: \\033]0;x\\007é\\n'; exit 1");
  assert.match(stdout, /\nno: \]0;xé\n$/);
  assert.match(stderr, /the image was not installed; later: devicectl update install/);
  assert.equal(status, 0);
});
