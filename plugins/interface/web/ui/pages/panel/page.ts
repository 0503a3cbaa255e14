import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { fromBase64 } from '../../core/bytes.ts';
import { bytesText, durationText, percentText } from '../../core/format.ts';
import type { PageProps } from '../../core/route.ts';
import { isOperator } from '../../core/session.ts';
import { sheet, useAsk, useEvents } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { download } from '../../parts/file.ts';
import { Answer, Badge, Card, Facts, Head, Problem } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { DeviceScreen, type ScreenRate } from '../../parts/screen.ts';
import { Table } from '../../parts/table.ts';
import { Keys, Light } from './controls.ts';
import { Pairing } from './pairing.ts';
import { Reading } from './reading.ts';
import { type Described, type DisplayState, frameMs, type Surface, type Surfaces } from './shapes.ts';
import { text } from './text.ts';

/** Answer of the Core with the list of its paths. */
interface Offered {
  readonly paths: Readonly<Record<string, Readonly<Record<string, KeyPath>>>>;
}
interface KeyPath {
  readonly requestBody?: {
    readonly content?: Readonly<
      Record<
        string,
        { readonly schema?: { readonly properties?: { readonly name?: { readonly examples?: readonly string[] } } } }
      >
    >;
  };
}

export function Page({ title, query }: PageProps) {
  sheet('pages/panel/panel.css');
  const state = useAsk<DisplayState>('/display');
  const described = useAsk<Described>('/display/text', { all: true, targets: true });
  const surfaces = useAsk<Surfaces>('/display/surfaces');
  const offered = useAsk<Offered>('/openapi.json');
  const about = useAsk<{ readonly sku?: { readonly simulated?: boolean } }>('/version');
  const [rate, setRate] = useState<ScreenRate | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [pairing, setPairing] = useState(false);
  useEffect(() => {
    if (query.has('pair') && isOperator()) setPairing(true);
  }, [query.toString()]);
  useEvents(['display.state', 'app.state'], () => {
    state.reload();
    described.reload();
    surfaces.reload();
  });
  // New frames may have another description; without frames there are no requests.
  const turn = useRef(0);
  const onFrames = (seen: ScreenRate) => {
    setRate(seen);
    setError(undefined);
    described.reload();
    turn.current += 1;
    if (turn.current % 2 === 1) surfaces.reload();
  };
  const paths = offered.data?.paths ?? {};
  const touchable = '/display/input' in paths;
  const { problem, power } = state.data ?? {};
  const keys =
    paths['/display/input/key']?.post?.requestBody?.content?.['application/json']?.schema?.properties?.name?.examples;
  const actions = html`<${Button} icon="panel" onClick=${keepPicture}>${text('picture')}<//>${'/display/pairing' in paths && html`<${Button} kind="main" icon="key" writes=${true} onClick=${() => setPairing(true)}>${text('pair')}<//>`}`;
  return html`<${Head} title=${title} lead=${touchable ? text('lead') : text('leadLook')} actions=${actions} />${error !== undefined && html`<${Problem} error=${error} />`}<div class="panel-page"><div class="panel-stage"><${DeviceScreen} label=${text('screen')} touchable=${touchable} dark=${power === 'off'} onFrames=${onFrames} onError=${setError}>${problem !== undefined || power === 'off' ? html`<div class="device-says"><${Icon} name=${problem === undefined ? 'sun' : 'warn'} size=${30} /><p>${problem === undefined ? text('isOff') : text('noPicture')}</p></div>` : null}<//><${Rate} rate=${rate} />${keys && html`<${Keys} keys=${keys} />`}</div><div class="panel-aside"><${Card} title=${text('front')}><${Answer} of=${surfaces}>${(data: Surfaces) => html`<${Front} state=${state.data} data=${data} />`}<//><//><${Reading} described=${described} touchable=${touchable} simulated=${about.data?.sku?.simulated === true} /><${Card} title=${text('light')}><${Answer} of=${state}>${(data: DisplayState) => html`<${Light} state=${data} />`}<//><//></div></div><${Answer} of=${surfaces}>${(data: Surfaces) => html`<details class="card"><summary><h2>${text('surfaces')}</h2><span class="note">${text('count', { n: data.surfaces.length })}</span></summary><${All} data=${data} /></details>`}<//>${pairing && html`<${Pairing} onClose=${() => setPairing(false)} />`}`;
}

/** How fresh the picture is, in one quiet line. */
function Rate({ rate }: { rate: ScreenRate | undefined }) {
  const [still, setStill] = useState(false);
  useEffect(() => {
    setStill(false);
    // Frames that do not come are told by nobody.
    const timer = setTimeout(() => setStill(true), 3_000);
    return () => clearTimeout(timer);
  }, [rate]);
  if (rate === undefined) return html`<p class="panel-rate" role="status">${text('waiting')}</p>`;
  const { width, height, frames, bytes, lagMs } = rate;
  const size = `${width} × ${height}`;
  return html`<p class="panel-rate">${still ? text('still', { size }) : text('rate', { size, n: Math.round(frames), bytes: bytesText(bytes), lag: durationText(Math.round(lagMs)) })}</p>`;
}

function Front({ state, data }: { state: DisplayState | undefined; data: Surfaces }) {
  const { report, surfaces } = data;
  const app = state?.app;
  const own = surfaces.find((one) => app !== undefined && one.app === app);
  const cost = own && frameMs(own);
  const all = report.frames > 0 ? report.cpuMs / report.frames : undefined;
  const budget = own?.budgetMs;
  return html`<p class="panel-front">${app ?? text('itself')}</p>${cost !== undefined && budget !== undefined && html`<div class="panel-cost"><label for="panel-cost">${text('frameOf', { cost: durationText(cost), budget: durationText(budget) })}</label><meter id="panel-cost" min="0" max=${budget} high=${budget * 0.8} value=${Math.min(budget, cost)}></meter></div>`}<${Facts} rows=${[
    [text('eachFrame'), all === undefined ? text('nothingPainted') : durationText(all)],
    [text('share'), report.ms > 0 ? percentText(report.cpuMs / report.ms) : '–'],
    [text('renderer'), state?.renderer ?? '–'],
    [text('driver'), state?.problem ?? state?.panel ?? '–'],
  ]} />`;
}

const LEVELS = { foreground: 'okay', covered: 'info', hidden: 'quiet' } as const;

function All({ data }: { data: Surfaces }) {
  const columns = [
    { title: text('surface'), cell: ({ id, app }: Surface) => app ?? id },
    { title: text('layer'), cell: ({ layer }: Surface) => layerText(layer) },
    {
      title: text('state'),
      cell: ({ state, app }: Surface) =>
        html`<${Badge} level=${LEVELS[state]}>${app === undefined && state === 'foreground' ? text('drawn') : text(state)}<//>`,
    },
    {
      title: text('eachFrame'),
      number: true,
      cell: (one: Surface) => {
        const cost = frameMs(one);
        return cost === undefined ? '–' : durationText(cost);
      },
    },
  ];
  return html`<${Table} label=${text('surfaces')} columns=${columns} rows=${data.surfaces} rowKey=${({ id }: Surface) => id} empty=${text('nothingShown')} />`;
}

const LAYERS = ['home', 'app', 'voice', 'banner', 'toast', 'prompt', 'system'] as const;
const layerText = (layer: string): string => {
  const known = LAYERS.find((one) => one === layer);
  return known === undefined ? layer : text(`layer-${known}`);
};

async function keepPicture(): Promise<void> {
  const { png } = await api.get<{ png: string }>('/display/screenshot', { all: true });
  const name = `panel-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.png`;
  download(name, fromBase64(png), 'image/png');
}
