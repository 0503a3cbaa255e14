/** What the test outside may ask of the machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DrivenPanel } from '@device-core/plugin-api/panel-driver';
import type { Rect } from '@device-core/plugin-api/scene';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import type { PluginSurface } from '@device-core/plugin-api/services/display';
import type { PixelFormat } from '@device-core/plugin-api/services/panel';
import { FOLDERS } from '../../../plugins/display/input-evdev/find.ts';
import { openNode } from '../../../plugins/display/input-evdev/node.ts';
import type { InputRecord } from '../../../plugins/display/input-evdev/records.ts';
import { type DeviceSettings, EvdevSource } from '../../../plugins/display/input-evdev/source.ts';
import { RecordingInputs } from '../../contracts/input.ts';
import { painted } from '../../contracts/panel.ts';
import { type Part, part } from '../../fixtures/scope.ts';
import * as device from './device.ts';
import { openFramebuffer, openScreen } from './panels.ts';
import { type MadeDevice, Uinput } from './uinput.ts';

type Params = Readonly<Record<string, unknown>>;
type Command = (params: Params) => Promise<unknown>;

let own: Part = part();
let panel: DrivenPanel | undefined;
let seq = 0;
let flipper: ChildProcess | undefined;
const recording = new RecordingInputs();
const made = new Map<string, Uinput>();

const there = (): DrivenPanel => {
  if (!panel) throw new Error('no panel is open');
  return panel;
};

/** Children of this process that are called so. */
const named = (name: string): readonly number[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === name;
      } catch {
        return false; // it is gone
      }
    })
    .map(Number);

export const COMMANDS: Readonly<Record<string, Command>> = {
  /** It may not be there; `info` tells. */
  async open({ panel: which, format = 'xrgb8888' }) {
    const { scope, log } = own;
    const open = () => (which === 'drm' ? openScreen(scope, format as PixelFormat) : openFramebuffer());
    panel = await DrivenPanel.start({ scope, log, name: String(which), open, limitMs: 30_000 });
    seq = 0;
  },
  info: async () => await there().info(),
  async present({ rects, seed }) {
    const { format } = await there().info();
    const parts = (rects as readonly Rect[]).map((rect, index) => painted(rect, format, Number(seed) + index));
    const pixels = new Uint8Array(Buffer.concat(parts));
    const asked = monotonicMs();
    const { at } = await there().present({ seq: ++seq, rects: rects as readonly Rect[], pixels });
    return { asked, at, now: monotonicMs() };
  },
  async power({ on }) {
    await there().power(on === true);
  },
  async close() {
    await own[Symbol.asyncDispose]();
    own = part();
    panel = undefined;
  },

  /** Another program, which has the card. */
  async flipper() {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'flipper.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    flipper = child;
    await once(child.stdout!, 'data');
  },
  async killFlipper() {
    const gone = once(flipper!, 'close');
    flipper!.kill('SIGKILL');
    await gone;
  },

  async input({ settings }) {
    const { scope, log } = own;
    const open = (path: string) => openNode(path, scope.clock);
    const options = { scope, log, inputs: recording, folders: FOLDERS, open };
    const source = await EvdevSource.start({ ...options, settings: settings as DeviceSettings });
    return source.problem ?? null;
  },
  heard: async () => ({ events: recording.events, problems: recording.problems, now: monotonicMs() }),
  async forget() {
    recording.pushes.length = 0;
    recording.problems.length = 0;
  },
  async make({ device }) {
    const { name } = device as MadeDevice;
    made.set(name, new Uinput(device as MadeDevice));
  },
  async unmake({ name }) {
    made.get(String(name))?.[Symbol.dispose]();
    made.delete(String(name));
  },
  async emit({ name, records, times = 1 }) {
    for (let time = 0; time < Number(times); time++)
      made.get(String(name))!.emit(records as readonly Omit<InputRecord, 'at'>[]);
  },
  /** Whoever reads devices is held up, and goes on. */
  async hold({ held }) {
    const readers = named('cat');
    for (const pid of readers) process.kill(pid, held === true ? 'SIGSTOP' : 'SIGCONT');
    return readers.length;
  },
  startDevice: ({ renderer }) => device.startDevice(String(renderer)),
  put: ({ surface }) => device.put(surface as PluginSurface),
  state: () => device.state(),
  touched: async () => device.heard(),
  log: async () => device.log(),
  stopDevice: () => device.stopDevice(),

  logged: async () => own.logged,
};
