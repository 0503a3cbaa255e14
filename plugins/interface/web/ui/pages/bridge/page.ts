import { html } from 'htm/preact';
import { useEffect } from 'preact/hooks';
import { link, type PageProps } from '../../core/route.ts';
import { sheet, useAsk, useEvents, useVisible } from '../../parts/ask.ts';
import { Tabs } from '../../parts/dialog.ts';
import { Answer, Head } from '../../parts/frame.ts';
import { Buses, Sensors } from './buses.ts';
import { Endpoints } from './endpoints.ts';
import { LinkFigures, Reboot } from './link-card.ts';
import { Pins } from './pins.ts';
import type { Status } from './shapes.ts';
import { words } from './text.ts';
import { Traffic } from './traffic.ts';

const TABS = ['pins', 'sensors', 'buses', 'endpoints', 'traffic'] as const;
type Tab = (typeof TABS)[number];
const isTab = (value: string | undefined): value is Tab => TABS.includes(value as Tab);
/** Counters tell of themselves by no event. */
const COUNTERS_MS = 3000;

sheet('pages/bridge/bridge.css');

export function Page({ rest: [first] }: PageProps) {
  const tab = isTab(first) ? first : 'pins';
  const status = useAsk<Status>('/bridge');
  const visible = useVisible();
  useEvents(['bridge.link'], status.reload);
  useEffect(() => {
    if (!visible) return;
    const timer = setInterval(status.reload, COUNTERS_MS);
    return () => clearInterval(timer);
  }, [visible]);
  const tabs = TABS.map(
    (one) => [link('bridge', one === 'pins' ? [] : [one]), words(`tab-${one}`), one === tab] as const,
  );
  return html`<${Head} title=${words('title')} lead=${words('lead')} actions=${html`<${Reboot} />`} /><${Answer} of=${status}>${(data: Status) => html`<${LinkFigures} link=${data.link} />`}<//><${Tabs} label=${words('title')} tabs=${tabs} />${tab === 'pins' && html`<${Pins} />`}${tab === 'sensors' && html`<${Sensors} />`}${tab === 'buses' && html`<${Buses} />`}${tab === 'endpoints' && status.data && html`<${Endpoints} list=${status.data.endpoints} link=${status.data.link} />`}${tab === 'traffic' && html`<${Traffic} endpoints=${status.data?.endpoints ?? []} />`}`;
}
