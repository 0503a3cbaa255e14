/**
 * A device as `devicectl system install` makes it, in a virtual machine: systemd with control groups of version 2 and a kernel with AppArmor. Scripts of the
 * shell reach it over the wire, as they reach a container.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { debianRoot } from '../fixtures/debian-root.ts';
import { devicectl } from '../fixtures/installed-core.ts';
import type { Box, Ran } from '../fixtures/nspawn.ts';
import { Machine, noMachine } from './machine.ts';

const SYSTEM = 'etc/systemd/system';
/** A line of JSON is a script, and the answer is another. */
const AGENT = `import json, os, subprocess
wire = os.open("/dev/ttyS0", os.O_RDWR | os.O_NOCTTY)
lines = os.fdopen(os.dup(wire), "r", encoding="utf8")

def say(text):
    data = (text + "\\n").encode()
    while data:
        data = data[os.write(wire, data):]

say("READY")
for line in lines:
    if not line.strip():
        continue
    asked = json.loads(line)
    ran = subprocess.run(["/bin/sh", "-c", asked["params"]["script"]], capture_output=True, stdin=subprocess.DEVNULL, cwd="/")
    result = {"status": ran.returncode, "stdout": ran.stdout.decode("utf8", "replace"), "stderr": ran.stderr.decode("utf8", "replace")}
    say(json.dumps({"id": asked["id"], "result": result}))
`;
/** A Core that is started by a processor of software, on a busy machine. */
const PATIENCE = '[Service]\nTimeoutStartSec=900\nWatchdogSec=600\n';
const AGENT_UNIT = `[Unit]
After=dbus.socket
[Service]
ExecStartPre=/usr/bin/stty -F /dev/ttyS0 raw -echo
ExecStart=/usr/bin/python3 /opt/lab-agent.py
Environment=PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 SYSTEMD_PAGER= SYSTEMD_COLORS=0
[Install]
WantedBy=multi-user.target
`;
const ROOT = noMachine === false ? debianRoot() : { problem: noMachine };

/** For the `skip` of a test that needs such a device: the reason, or false. */
export const WITHOUT_DEVICE: string | false = 'problem' in ROOT ? ROOT.problem : false;

export interface DeviceOptions {
  /** Text of the SKU. */
  readonly sku: string;
  /** After the install, before the boot. */
  readonly prepare?: (root: string) => void;
}

export class DeviceBox implements Box, AsyncDisposable {
  readonly #machine: Machine;
  readonly #folder: string;

  private constructor(machine: Machine, folder: string) {
    this.#machine = machine;
    this.#folder = folder;
  }

  static async boot({ sku, prepare }: DeviceOptions): Promise<DeviceBox> {
    if ('problem' in ROOT) throw new Error(ROOT.problem);
    const folder = mkdtempSync(join(tmpdir(), 'lab-device-'));
    try {
      const [root, disk] = [join(folder, 'root'), join(folder, 'disk')];
      mkdirSync(root);
      execFileSync('tar', ['xf', ROOT.tarball, '-C', root]);
      install(root, sku);
      prepare?.(root);
      execFileSync('/sbin/mke2fs', ['-q', '-t', 'ext4', '-d', root, disk, '2G']);
      rmSync(root, { recursive: true });
      const machine = await Machine.boot({
        modules: [],
        devices: [],
        append: 'apparmor=1 lsm=apparmor',
        disk,
        memoryMB: 1_536,
      });
      return new DeviceBox(machine, folder);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  run(script: string, { ms = 120_000 }: { readonly ms?: number } = {}): Promise<Ran> {
    return this.#machine.call('run', { script }, ms);
  }

  async output(script: string, how: { readonly ms?: number } = {}): Promise<string> {
    const { status, stdout, stderr } = await this.run(script, how);
    if (status !== 0) throw new Error(`exit status ${status} of: ${script}\n${stdout}${stderr}`);
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#machine[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function install(root: string, sku: string): void {
  const file = join(root, 'tmp/sku.yaml');
  writeFileSync(file, sku);
  const { status, stdout, stderr } = devicectl('system', 'install', '--root', root, '--sku', file);
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
  rmSync(file);
  writeFileSync(join(root, 'usr/lib/systemd/system/device-core.service.d/90-lab.conf'), PATIENCE);
  writeFileSync(join(root, 'opt/lab-agent.py'), AGENT);
  writeFileSync(join(root, SYSTEM, 'lab-agent.service'), AGENT_UNIT);
  enable(root, '../lab-agent.service', 'multi-user.target.wants/lab-agent.service');
  for (const unit of ['serial-getty@ttyS1.service', 'getty@tty1.service']) enable(root, '/dev/null', unit);
}

function enable(root: string, to: string, link: string): void {
  const path = join(root, SYSTEM, link);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(to, path);
}

/** Copies of this checkout. */
export const copied = (from: string, root: string, to: string): void =>
  cpSync(join(import.meta.dirname, '../..', from), join(root, to), { recursive: true });
