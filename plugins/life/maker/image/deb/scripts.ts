/** Files and scripts of a package for dpkg. */

import type { Image } from '@device-core/plugin-api/inside/image';
import { EXIT, Failure } from '@device-core/plugin-api/program';

const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: 'amd64',
  arm64: 'arm64',
  arm: 'armhf',
  riscv64: 'riscv64',
};

export function control({ sku, version, platform }: Image, service: string, maintainer: string): string {
  const architecture = ARCHITECTURES[platform.arch];
  if (architecture === undefined || platform.libc !== 'glibc')
    throw new Failure(EXIT.answered, 'SYSTEM_IMAGE_INVALID', `no Debian runs on ${platform.arch} ${platform.libc}`);
  if (!/^[^\n<>]+ <[^\n<> ]+@[^\n<> ]+>$/.test(maintainer))
    throw new Failure(EXIT.usage, 'INVALID_PARAMS', 'a maintainer is a name and an address: Name <name@example.com>');
  return [
    `Package: ${service}`,
    // A hyphen would begin the revision of a packager; what comes before a release sorts before it.
    `Version: ${version.replaceAll('-', '~')}`,
    `Architecture: ${architecture}`,
    `Maintainer: ${maintainer}`,
    'Depends: systemd, dbus, libc6, libstdc++6',
    'Section: misc',
    'Priority: optional',
    `Description: ${sku} as a device with two slots`,
    ' Boot loader, keys, units, and one image. A newer package is staged, tried and',
    ' taken back by itself like any other update.',
    '',
  ].join('\n');
}

export const SCRIPTS = {
  postinst: `#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
runs() { [ -d /run/systemd/system ]; }
systemd-sysusers @SERVICE@.conf
systemd-tmpfiles --create @SERVICE@.conf || true
if runs; then systemctl daemon-reload; fi
lib=/usr/lib/@SERVICE@
status=0
"$lib/boot/bin/node" "$lib/tools/plugins/life/maker/image/install/first.js" @SERVICE@ || status=$?
case $status in
  0)
    if runs; then
      systemctl start @SERVICE@-warden.socket @SERVICE@-credentials.socket @SERVICE@-slots.socket
      systemctl start --no-block @SERVICE@-core.service
    fi
    ;;
  10)
    # What runs goes on; a helper of root is a new one when it is asked next.
    if runs; then systemctl try-restart @SERVICE@-warden.service @SERVICE@-slots.service; fi
    image=/usr/share/@SERVICE@/image/image.tar
    # That file is the Core's own: it runs as the Core's user, without a way back and without this terminal.
    installed=yes
    said=$(setsid -w setpriv --reuid=@SERVICE@ --regid=@SERVICE@ --clear-groups --no-new-privs --reset-env \\
      /run/@SERVICE@/devicectl update install "$image" </dev/null 2>&1) || installed=no
    printf '%s\\n' "$said" | LC_ALL=C tr -d '\\000-\\010\\013-\\037\\177'
    if [ $installed = no ]; then
      # The package is there all the same: an updater that says no does so for a reason, and may say yes later.
      echo "@SERVICE@: the image was not installed; later: devicectl update install $image" >&2
    fi
    ;;
  *) exit "$status" ;;
esac
`,
  prerm: `#!/bin/sh
set -e
[ "$1" = remove ] || exit 0
if [ -d /run/systemd/system ]; then
  systemctl stop @SERVICE@-core.service @SERVICE@-warden.socket @SERVICE@-credentials.socket @SERVICE@-slots.socket || true
fi
`,
  postrm: `#!/bin/sh
set -e
if [ "$1" = purge ]; then rm -rf /var/lib/@SERVICE@-system /var/lib/@SERVICE@ /etc/@SERVICE@; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
`,
} as const;
