/** Handles of every bus with who holds them, what comes in on serial lines and CAN, and sensors with live values. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { numberText, timeText } from '../../core/format.ts';
import { stream } from '../../core/live.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Answer, Badge, Card, Empty, Figure, Problem } from '../../parts/frame.ts';
import { Table } from '../../parts/table.ts';
import { useLines } from './lines.ts';
import type { Envelope, Handle } from './shapes.ts';
import { words } from './text.ts';

const BUSES = ['spi', 'i2c', 'uart', 'can'] as const;
type Bus = (typeof BUSES)[number];
/** Characters and frames that are kept of what comes in. */
const KEPT_TEXT = 4000;
const KEPT_FRAMES = 50;

interface BusHandle extends Handle {
  readonly cs?: number;
  readonly speed?: number;
  readonly mode?: string | number;
  readonly address?: number;
  readonly baud?: number;
  readonly nominal?: number;
  readonly received?: number;
  readonly written?: number;
  readonly sent?: number;
  /** Losses: bytes of a serial line that were not read, frames of CAN that did not come. */
  readonly lost?: number;
  readonly lineErrors?: number;
  readonly state?: string;
}

const hex = (value: number): string => `0x${value.toString(16).padStart(2, '0')}`;

function settings(bus: Bus, one: BusHandle): string {
  if (bus === 'spi')
    return `CS ${one.cs} · ${numberText((one.speed ?? 0) / 1e6, 3)} MHz · ${words('mode', { mode: one.mode ?? 0 })}`;
  if (bus === 'i2c') return words('address', { address: hex(one.address ?? 0) });
  if (bus === 'uart') return words('baud', { n: one.baud ?? 0 });
  return `${numberText((one.nominal ?? 0) / 1000)} kbit/s · ${one.state ?? ''}`;
}

function work(bus: Bus, one: BusHandle): string {
  if (bus === 'uart') {
    const { received = 0, written = 0, lost = 0 } = one;
    // A line that nobody reads is no fault of it.
    return `${words('inOut', { in: received, out: written })}${lost > 0 ? ` · ${words('unread', { n: lost })}` : ''}`;
  }
  if (bus === 'can') return words('inOutFrames', { in: one.received ?? 0, out: one.sent ?? 0 });
  return words('transfers', { n: one.transfers ?? 0 });
}

const faults = (bus: Bus, { errors = 0, lost = 0, lineErrors = 0 }: BusHandle): number =>
  errors + lineErrors + (bus === 'uart' ? 0 : lost);

export function Buses() {
  return html`${BUSES.map((bus) => html`<${OneBus} key=${bus} bus=${bus} />`)}`;
}

function OneBus({ bus }: { bus: Bus }) {
  const handles = useAsk<{ handles: readonly BusHandle[] }>(`/${bus}/handles`);
  useEvents(['bridge.link', 'uart.error', 'can.state'], handles.reload, 1000);
  const [followed, setFollowed] = useState<string | undefined>(undefined);
  const columns = [
    {
      title: words('handle'),
      cell: ({ name, description }: BusHandle) =>
        html`<strong>${name}</strong>${description && html`<p class="note">${description}</p>`}`,
    },
    { title: words('endpoint'), cell: ({ endpoint }: BusHandle) => html`<code>${endpoint}</code>` },
    { title: words('settings'), cell: (one: BusHandle) => settings(bus, one) },
    { title: words('holder'), cell: ({ owner }: BusHandle) => html`<code>${owner}</code>` },
    { title: words('work'), cell: (one: BusHandle) => work(bus, one) },
    {
      title: words('failed'),
      cell: (one: BusHandle) =>
        faults(bus, one) > 0 ? html`<${Badge} level="warn">${numberText(faults(bus, one), 0)}<//>` : '0',
      number: true,
    },
    ...(bus === 'uart'
      ? [
          {
            title: words('monitor'),
            cell: ({ name }: BusHandle) =>
              html`<${Button} kind="quiet" icon=${followed === name ? 'stop' : 'play'} label=${words(followed === name ? 'stopFollowing' : 'follow', { name })} onClick=${() => setFollowed(followed === name ? undefined : name)} />`,
          },
        ]
      : []),
  ];
  return html`<${Card} title=${words(`bus-${bus}`)}><${Answer} of=${handles}>${(data: NonNullable<typeof handles.data>) => html`<${Table} label=${words(`bus-${bus}`)} columns=${columns} rows=${data.handles} rowKey=${({ name }: BusHandle) => name} empty=${words('noHandles')} />`}<//>${followed !== undefined && html`<${Serial} key=${followed} handle=${followed} />`}${bus === 'can' && html`<${Frames} />`}<//>`;
}

/** Received bytes of a serial line; the card sends nothing, and other readers lose nothing by it. */
function Serial({ handle }: { handle: string }) {
  const [text, setText] = useState('');
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    const decoder = new TextDecoder();
    let waiting = '';
    let timer: ReturnType<typeof setTimeout> | undefined;
    const line = stream(
      'uart.receive',
      { handle },
      {
        chunk: (bytes) => {
          // Letters as they are, what is none as a dot.
          waiting += decoder
            .decode(bytes, { stream: true })
            .replace(/[^\P{C}\n]/gu, (one) => (one === '\r' ? '' : '·'));
          timer ??= setTimeout(() => {
            timer = undefined;
            const arrived = waiting;
            waiting = '';
            setText((now) => (now + arrived).slice(-KEPT_TEXT));
          }, 100);
        },
        closed: setError,
      },
    );
    return () => {
      line.stop();
      clearTimeout(timer);
    };
  }, [handle]);
  return html`<h3>${words('comesIn', { name: handle })}</h3>${error !== undefined && html`<${Problem} error=${error} />`}<pre class="serial" tabindex="0" aria-label=${words('comesIn', { name: handle })}>${text || words('silence')}</pre>`;
}

interface CanFrame {
  readonly at: number;
  readonly handle: string;
  readonly id: number;
  readonly data: string;
  readonly key: number;
}
let frameNumber = 0;

function Frames() {
  const [frames, setFrames] = useState<readonly CanFrame[]>([]);
  useEvents(['can.frame'], (items) => {
    const arrived = items.map(({ data }) => {
      const { at, handle, id, data: bytes } = (data as Envelope).payload;
      return { at: Number(at), handle: String(handle), id: Number(id), data: String(bytes ?? ''), key: frameNumber++ };
    });
    setFrames((now) => [...arrived.reverse(), ...now].slice(0, KEPT_FRAMES));
  });
  if (frames.length === 0) return html`<p class="note">${words('noFrames')}</p>`;
  const columns = [
    { title: words('when'), cell: ({ at }: CanFrame) => timeText(at) },
    { title: words('handle'), cell: ({ handle }: CanFrame) => handle },
    { title: words('canId'), cell: ({ id }: CanFrame) => html`<code>${hex(id)}</code>` },
    { title: words('data'), cell: ({ data }: CanFrame) => html`<code>${data}</code>` },
  ];
  return html`<h3>${words('frames')}</h3><${Table} label=${words('frames')} columns=${columns} rows=${frames} rowKey=${({ key }: CanFrame) => String(key)} />`;
}

interface Sensor {
  readonly name: string;
  readonly title: string;
  readonly chip?: string;
  readonly quantities: Readonly<Record<string, { readonly unit: string; readonly min: number; readonly max: number }>>;
  readonly leastIntervalMs: number;
  readonly owner: string;
  readonly problem?: string;
}
interface Reading {
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
}

export function Sensors() {
  const sensors = useAsk<{ sensors: readonly Sensor[] }>('/sensors');
  useEvents(['bridge.link', 'plugin.state'], sensors.reload, 1000);
  return html`<${Answer} of=${sensors}>${(data: NonNullable<typeof sensors.data>) => (data.sensors.length === 0 ? html`<${Card}><${Empty} title=${words('noSensors')} /><//>` : html`<div class="grid">${data.sensors.map((one) => html`<${OneSensor} key=${one.name} sensor=${one} />`)}</div>`)}<//>`;
}

const UNITS: Readonly<Record<string, string>> = { Cel: '°C', '1': '' };

function OneSensor({ sensor }: { sensor: Sensor }) {
  const [reading, setReading] = useState<Reading | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const intervalMs = Math.max(1000, sensor.leastIntervalMs);
  useLines<Reading>(
    'sensors.follow',
    { name: sensor.name, intervalMs },
    { lines: (lines) => setReading(lines.at(-1)), closed: setError },
  );
  const value = (name: string, unit: string) => {
    const now = reading?.values[name];
    if (now === undefined) return '–';
    if (unit === 'bool') return words(now > 0 ? 'yes' : now === 0 ? 'no' : 'unknown');
    return `${numberText(now, unit === '1' ? 2 : 1)} ${UNITS[unit] ?? unit}`.trim();
  };
  return html`<${Card} title=${sensor.title} aside=${sensor.chip && html`<${Badge}>${sensor.chip}<//>`}><div class="readings">${Object.entries(sensor.quantities).map(([name, { unit }]) => html`<${Figure} key=${name} label=${name} value=${value(name, unit)} />`)}</div>${(sensor.problem || error !== undefined) && html`<${Problem} error=${error ?? new Error(sensor.problem)} />`}<p class="note">${sensor.name} · ${words('heldBy', { owner: sensor.owner })}${reading && ` · ${timeText(reading.at)}`}</p><//>`;
}
